import { type Json, RlmError } from "../../../runtime/index.ts";
import type { ToolSpec } from "../port.ts";
import { violations } from "../schema.ts";
import type { Param } from "./params.ts";

/** What a tool answers to the model: text, also where it failed. */
export interface ToolAnswer {
  readonly text: string;
  readonly isError?: boolean;
}

/** A tool that a sub-agent may be given. */
export interface AgentTool extends ToolSpec {
  /** It changes something outside of the conversation. */
  readonly sideEffects: boolean;
  /** `args` conform to `parameters`. Where it rejects, the model gets the error's message as the answer. */
  run(args: { readonly [name: string]: Json }, signal: AbortSignal): Promise<ToolAnswer>;
}

/** A read-only tool; arguments come in their types. An RlmError that `run` throws becomes an error answer in its words. */
export function defineReadTool<P extends Readonly<Record<string, Param<unknown>>>>(definition: {
  name: string;
  description: string;
  params: P;
  run(args: { [K in keyof P]: ReturnType<P[K]["read"]> }, signal: AbortSignal): Promise<ToolAnswer>;
}): AgentTool {
  const { name, description, params, run } = definition;
  const parameters = {
    type: "object",
    properties: Object.fromEntries(Object.entries(params).map(([key, { schema }]) => [key, schema])),
    required: Object.keys(params).filter((key) => params[key]?.required),
    additionalProperties: false,
  };
  return {
    name,
    description,
    parameters,
    sideEffects: false,
    async run(args, signal) {
      const [wrong] = violations(parameters, args);
      if (wrong !== undefined) return { text: `${name}: ${wrong}`, isError: true };
      try {
        return await run(readArguments(params, args), signal);
      } catch (error) {
        if (!(error instanceof RlmError)) throw error;
        return { text: error.message, isError: true };
      }
    },
  };
}
