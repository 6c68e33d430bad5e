import { type Json, RlmError } from "../../../runtime/index.ts";
import type { ToolSpec } from "../port.ts";
import { violations } from "../schema/schema.ts";
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
interface Arguments {
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

export const MAX_BYTES = 50 * 1024;

/** A line of a text: its number from 1, and its extent in UTF-16 units without the line feed. */
export interface Line {
  readonly number: number;
  readonly start: number;
  readonly end: number;
}

/**
 * The lines of a text, one at a time: a list of ten million would not fit. A line feed at the end
 * begins no line.
 */
export function* linesOf(text: string): Generator<Line> {
  let number = 0;
  for (let start = 0; start < text.length; ) {
    const feed = text.indexOf("\n", start);
    const end = feed === -1 ? text.length : feed;
    number += 1;
    yield { number, start, end };
    start = end + 1;
  }
}

/** The first lines that fit into `MAX_BYTES`, whole; `cut`: there were more. */
export function fitting(lines: readonly string[]): { shown: readonly string[]; cut: boolean } {
  let bytes = 0;
  const over = lines.findIndex((line) => {
    bytes += Buffer.byteLength(line) + 1;
    return bytes > MAX_BYTES + 1;
  });
  return over === -1 ? { shown: lines, cut: false } : { shown: lines.slice(0, over), cut: true };
}

/** The text with notes for the model, in brackets under it. */
export function withNotes(text: string, notes: readonly string[]): string {
  return notes.length === 0 ? text : `${text}\n\n[${notes.join(". ")}]`;
}

/**
 * A name as one line shows it. With a line feed in it, it could pass for several lines; quotes show
 * that it is one name.
 */
export function shownName(name: string): string {
  return /\p{Cc}/u.test(name) ? JSON.stringify(name) : name;
}

/** `51.2KB`, as Pi writes sizes. */
export function size(bytes: number): string {
  return bytes < 1024 ? `${bytes}B` : `${(bytes / 1024).toFixed(1)}KB`;
}
