import { type Static, type TProperties, Type } from "typebox";
import { Compile } from "typebox/compile";
import { type Json, RlmError } from "../../../runtime/index.ts";
import type { ToolSpec } from "../port.ts";

/** What a tool answers to the model: text, also where it failed. */
export interface ToolAnswer {
  readonly text: string;
  readonly isError?: boolean;
}

/** A tool that a sub-agent may be given. */
export interface AgentTool extends ToolSpec {
  /** It changes something outside of the conversation: shown to whoever approves it. */
  readonly sideEffects: boolean;
  /** `args` were checked against `parameters`. May reject: the model then gets the error's message as the answer. */
  run(args: { readonly [name: string]: Json }, signal: AbortSignal): Promise<ToolAnswer>;
}

/** A read-only tool. What `run` throws with a code becomes an error answer in the same words. */
export function defineReadTool<P extends TProperties>(definition: {
  name: string;
  description: string;
  params: P;
  run(args: Static<ReturnType<typeof Type.Object<P>>>, signal: AbortSignal): Promise<ToolAnswer>;
}): AgentTool {
  const { name, description, params, run } = definition;
  const schema = Type.Object(params);
  const parameters: ToolSpec["parameters"] = JSON.parse(JSON.stringify(schema));
  let compiled: ReturnType<typeof Compile<typeof schema>> | undefined;
  return {
    name,
    description,
    parameters,
    sideEffects: false,
    async run(args, signal) {
      compiled ??= Compile(schema);
      if (!compiled.Check(args)) return { text: `${name}: arguments do not match its parameters`, isError: true };
      try {
        return await run(args, signal);
      } catch (error) {
        if (!(error instanceof RlmError)) throw error;
        return { text: error.message, isError: true };
      }
    },
  };
}
