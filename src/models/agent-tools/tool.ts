import { type Json, RlmError } from "../../../runtime/index.ts";
import type { ToolSpec } from "../port.ts";
import { isJsonObject, type JsonObject } from "../schema/pointer.ts";
import { violations } from "../schema/violations.ts";
import type { ReadableRoots } from "./allowed-paths.ts";

/** A tool's answer to the model: text, also if it failed. */
export interface ToolAnswer {
  readonly text: string;
  readonly isError?: boolean | undefined;
}

/** A tool that a sub-agent may be given. */
export interface AgentTool extends ToolSpec {
  /** It changes something outside of the conversation. */
  readonly sideEffects: boolean;
  /**
   * `args` conform to `parameters`. If it rejects, the model gets the error's message as the
   * answer.
   */
  run(args: { readonly [name: string]: Json }, signal: AbortSignal): Promise<ToolAnswer>;
}

/** A refusal that the model reads. */
export function refused(message: string, suggestion: string): RlmError {
  return new RlmError("invalid_argument", message, { suggestion });
}

/** The schema of one parameter. */
type Param = { readonly [keyword: string]: Json };

export const text = (description: string): Param => ({ type: "string", description });
export const flag = (description: string): Param => ({ type: "boolean", description });
/** A whole number, from `minimum`. */
export const count = (description: string, minimum: number): Param => ({ type: "integer", description, minimum });

/** Checked arguments by name; undefined if an optional one is not given. */
export interface Arguments {
  /** A text; `undefined` if it is not given. */
  text(name: string): string | undefined;
  /** A number; `undefined` if it is not given. */
  count(name: string): number | undefined;
  /** True if it is given as true. */
  flag(name: string): boolean;
}

/** A tool that every sub-agent may have, since it only reads. */
export interface ReadTool {
  readonly name: string;
  /** Other names that a cell may ask for it by: those of Pi's tools. */
  readonly aliases: readonly string[];
  /** The model's text about the tool. */
  readonly description: string;
  readonly params: Readonly<Record<string, Param>>;
  readonly required: readonly string[];
  /** @throws RlmError, whose message becomes an error answer */
  run(readable: ReadableRoots, args: Arguments, signal: AbortSignal): Promise<ToolAnswer>;
}

/** The tool, confined to these roots. They are opened at each call. */
export function within(
  readable: ReadableRoots,
  { name, description, params: properties, required, run }: ReadTool,
): AgentTool {
  const parameters: { [keyword: string]: Json } = {
    type: "object",
    properties,
    required: [...required],
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
        return await run(readable, reader(args), signal);
      } catch (error) {
        if (!(error instanceof RlmError)) throw error;
        return { text: error.message, isError: true };
      }
    },
  };
}

function reader(args: { readonly [name: string]: Json }): Arguments {
  return {
    text(name: string): string | undefined {
      const value = args[name];
      return typeof value === "string" ? value : undefined;
    },
    count(name: string): number | undefined {
      const value = args[name];
      return typeof value === "number" ? value : undefined;
    },
    flag: (name: string) => args[name] === true,
  };
}

/**
 * Arguments as a tool takes them. A null for an optional argument is left out, because many models
 * pass one. `problems` say in words where they do not conform.
 */
export function checkArguments(parameters: JsonObject, given: { readonly [name: string]: Json }) {
  const required: Json = parameters.required ?? [];
  const properties = isJsonObject(parameters.properties) ? parameters.properties : {};
  const isLeftOut = (name: string, value: Json) =>
    value === null &&
    !(Array.isArray(required) && required.includes(name)) &&
    violations(properties[name] ?? true, null, parameters).length > 0;
  const args = Object.fromEntries(Object.entries(given).filter(([name, value]) => !isLeftOut(name, value)));
  return { args, problems: violations(parameters, args) };
}
