import { type Json, RlmError, remedy, roundedIn } from "../../runtime/index.ts";
import type { ObjectSource } from "../context/index.ts";
import { compare } from "../models/schema/compare.ts";
import { messageOf, nullIfFailed } from "../platform/errors.ts";
import { jsonOf } from "../platform/json.ts";
import { meantBy } from "../platform/nearest.ts";
import type { EndExtras, LoadResult, QueryEnvelope, Session } from "../session/index.ts";
import type { WorkflowHost } from "../workflow/index.ts";
import type { Conversation } from "./conversation.ts";

/**
 * A tool's answer: JSON, by wire names. Failures have `error_code`, `error_message` and
 * `suggestion`.
 */
export type ToolEnvelope = { readonly success: boolean; readonly [field: string]: Json };

export interface Signals {
  /** Aborting ends the exec as `cancelled`. */
  readonly signal: AbortSignal;
  /** Aborting suspends the exec: it can be resumed. */
  readonly suspend: AbortSignal;
}

/** Conditions under which a call runs. */
export interface ToolCall extends Signals {
  /** Folder of the project, absolute. */
  readonly cwd: string;
  /**
   * The key that the host has given the call, unchecked: a later call with it has the same answer.
   */
  readonly idempotencyKey?: unknown;
  /** The model that writes the cells of an ask, `provider/id`; default: the session's. */
  readonly rootModel?: string;
  /** Gives the user's settings of workflows; absent: there are none. @throws RlmError `invalid_config` */
  readonly workflows?: () => Promise<WorkflowHost>;
  /** The conversation in which it is made, if the host has one. */
  readonly conversation?: Conversation;
  /**
   * The most that rlm_ingest may add at once; default: what a context may hold. @throws RlmError
   * `invalid_config`
   */
  readonly mostIngested?: () => { readonly files: number; readonly bytes: number };
}

/** Files that were named to be added, and P after it. */
export interface Ingested {
  readonly paths: readonly string[];
  /** The paths are absolute, or relative to it. */
  readonly folder: string;
  readonly context: ObjectSource["context"];
  /** Documents of P before it. */
  readonly before: number;
}

/** The journal's record of a call that succeeded and whose answer was lost with its process. */
export interface RecordedCall {
  /** The envelope of an exec that ran a cell; null for others. */
  readonly envelope: object | null;
  /** The same if it was a query; else null. */
  readonly query: QueryEnvelope | null;
  /** The input of the exec. */
  readonly input: Json;
  /** Facts of the context after it, or null. */
  readonly stats: LoadResult["stats"] | null;
  /** Memory and helpers before it. */
  readonly before: Pick<EndExtras, "memory" | "helpers">;
  /** The files that were added, if several paths were named; else null. */
  readonly ingested: Ingested | null;
}

/** Stands for a call whose answer rests on no record beside what its caller adds. */
export const NOTHING_RECORDED: RecordedCall = {
  envelope: null,
  query: null,
  input: null,
  stats: null,
  ingested: null,
  before: { memory: {}, helpers: [] },
};

/**
 * A tool that a host offers to its model: its words, its parameters, and what it does with a
 * session.
 */
export interface Tool {
  readonly name: string;
  /** For people. */
  readonly label: string;
  readonly description: string;
  /** One line for a system prompt. */
  readonly promptSnippet: string;
  readonly guidelines: readonly string[];
  readonly parameters: Parameters;
  /** A sentence for the model: where it finds the rest of an answer that was too long to show. */
  readonly rest: string;
  /**
   * Never rejects: what goes wrong is an envelope. `open` gives the session of the host's branch,
   * and is called once the arguments are known to be right.
   */
  run(open: () => Promise<Session>, args: unknown, call: ToolCall): Promise<ToolEnvelope>;
  /**
   * The answer of a call that another process finished; null for calls that change nothing and are
   * not execs.
   */
  recorded(args: unknown, call: RecordedCall): Promise<ToolEnvelope | null>;
  /**
   * The rest of a call whose exec another process finished, if the call has one more exec; null:
   * nothing.
   */
  next(args: unknown, call: RecordedCall): ((session: Session) => Promise<ToolEnvelope>) | null;
  /**
   * The beginning of the cell that a call runs, for tools whose arguments do not have it as it is. null:
   * it is an argument, or the arguments are wrong.
   */
  asks(session: Session, args: unknown, call: Pick<ToolCall, "cwd" | "workflows">): Promise<string | null>;
  /** A success is answered with its field `text` alone. */
  readonly answersText: boolean;
  /** The answer if an exec failed. */
  failed(failure: Failure): ToolEnvelope;
}

interface Failure {
  readonly code: string;
  readonly message: string;
  readonly suggestion: string;
}

/** A tool as its file declares it, with what it works on. */
interface Definition<P extends Parameters, Subject>
  extends Pick<Tool, "name" | "label" | "description" | "promptSnippet">,
    Partial<Pick<Tool, "guidelines" | "rest" | "answersText">> {
  readonly parameters: P;
  /** Parameters that it once had, and the tool that has them now. */
  readonly moved?: Readonly<Record<string, string>>;
  /** The fields of a failure in place of each field of a success. */
  readonly failureFields: object;
  /** @throws RlmError, which becomes the answer */
  run(subject: Subject, args: Arguments<P>, call: ToolCall): Promise<object>;
  recorded?(args: Arguments<P>, call: RecordedCall): object | Promise<object>;
  next?(args: Arguments<P>, call: RecordedCall): ((session: Session) => Promise<object>) | null;
  /** @throws RlmError if the arguments are wrong */
  asks?(session: Session, args: Arguments<P>, call: Pick<ToolCall, "cwd" | "workflows">): Promise<string>;
}

/** A tool that works in the session. */
export function defineTool<const P extends Parameters>(definition: Definition<P, Session>): Tool {
  return defineOpeningTool({
    ...definition,
    run: async (open, args, call) => definition.run(await open(), args, call),
  });
}

/** A tool over the conversation in which it is called. It opens no session. */
export function defineConversationTool<const P extends Parameters>(definition: Definition<P, Conversation>): Tool {
  return defineOpeningTool({
    ...definition,
    run: (_open, args, call) => definition.run(conversationOf(definition.name, call), args, call),
  });
}

/** @throws RlmError `context_not_loaded` */
export function conversationOf(tool: string, { conversation }: Pick<ToolCall, "conversation">): Conversation {
  if (conversation) return conversation;
  const suggestion = "Call it where a conversation is kept, as in Pi.";
  throw new RlmError("context_not_loaded", `${tool}: there is no conversation here`, { suggestion });
}

/**
 * A tool that opens the session by itself, once it is known what is to be run; or never, if its
 * host answers it.
 */
export function defineOpeningTool<const P extends Parameters>(definition: Definition<P, () => Promise<Session>>): Tool {
  const { failureFields, moved = {}, run, recorded, next, asks, ...told } = definition;
  const { name, parameters } = told;
  const failed = ({ code, message, suggestion }: Failure) =>
    wire({ success: false, error_code: code, error_message: message, suggestion, ...failureFields });
  return {
    guidelines: [],
    answersText: false,
    rest: "Ask for less, or read the values in rlm_exec and print slices of them.",
    ...told,
    async run(open, args, call) {
      try {
        if (!areRight(parameters, args)) throw wrongArguments(name, parameters, args);
        checkMoved(name, moved, args);
        checkKeys(name, parameters, args);
        return wire(await run(open, args, call));
      } catch (error) {
        return failed(failureOf(error, call));
      }
    },
    async recorded(args, call) {
      if (!recorded || !areRight(parameters, args)) return null;
      return wire(await recorded(args, call));
    },
    next(args, call) {
      const rest = areRight(parameters, args) ? (next?.(args, call) ?? null) : null;
      return rest && (async (session) => wire(await rest(session)));
    },
    async asks(session, args, call) {
      if (!asks || !areRight(parameters, args)) return null;
      // Wrong arguments are the answer of the call.
      return nullIfFailed(asks(session, args, call));
    },
    failed,
  };
}

/**
 * Tools that work on the context fail without one (semantics 14). @throws RlmError
 * `context_not_loaded`
 */
export function checkContext(session: Session): void {
  if (session.stats() !== null) return;
  throw new RlmError("context_not_loaded", "no context is loaded", { suggestion: "Call rlm_load first." });
}

function wire(fields: object): ToolEnvelope {
  return { success: true, ...jsonOf(fields) };
}

export function failureOf(error: unknown, { signal }: Pick<ToolCall, "signal">): Failure {
  if (error instanceof RlmError) return error;
  const message = messageOf(error);
  if (signal.aborted) return { code: "cancelled", message, suggestion: "Call the tool again." };
  return { code: "machine_lost", message, suggestion: `Call the tool again; if it fails again, ${remedy("verify")}.` };
}

/** Problems of arguments, in words. Schemas of tools have no patterns. */
function problemsIn(parameters: Parameters, args: unknown): readonly string[] {
  const value = plainJson(args);
  if (value === undefined) return ["the call has arguments that are not JSON, or that are nested too deep"];
  const schema = jsonOf(parameters);
  return compare(schema, value, schema, () => true);
}

function areRight<P extends Parameters>(parameters: P, args: unknown): args is Arguments<P> {
  return problemsIn(parameters, args).length === 0;
}

function wrongArguments(name: string, parameters: Parameters, args: unknown): RlmError {
  const [problem = "the value does not fit"] = problemsIn(parameters, args);
  // The place is a JSON pointer.
  const sentence = problem
    .replace(/^\/\S+/, (pointer) => pointer.slice(1).replaceAll("/", "."))
    .replace(/^the value\b/, "the call");
  return new RlmError("invalid_argument", `${name}: ${sentence}`, {
    suggestion: `Parameters are ${Object.keys(parameters.properties).join(", ") || "none"}.`,
  });
}

/** @throws RlmError `invalid_argument` */
function checkMoved(name: string, moved: Readonly<Record<string, string>>, args: object): void {
  for (const [key, taker] of Object.entries(moved)) {
    if (!(key in args)) continue;
    const suggestion = `Call ${taker} with ${key}.`;
    throw new RlmError("invalid_argument", `${name}: it takes no ${key} any more`, { suggestion });
  }
}

/**
 * Looks for parameters that there are not: one that is misspelt would be ignored. The schema does
 * not forbid them, since that would cost tokens in every request. @throws RlmError
 * `invalid_argument`
 */
function checkKeys(place: string, schema: ParameterSchema | undefined, value: object): void {
  if (!schema?.properties) return;
  const known = Object.keys(schema.properties);
  for (const [key, inner] of Object.entries(value)) {
    if (!known.includes(key)) {
      throw new RlmError("invalid_argument", `${place}: unknown ${key}${meantBy(key, known)}`, {
        suggestion: `Parameters here are ${known.join(", ") || "none"}.`,
      });
    }
    if (typeof inner === "object" && inner !== null) checkKeys(`${place}: ${key}`, schema.properties[key], inner);
  }
}

/** JSON Schema of a parameter: the words that the tools use of it. */
interface ParameterSchema {
  readonly type?: "string" | "integer" | "boolean" | "array" | "object";
  readonly enum?: readonly string[];
  readonly anyOf?: readonly ParameterSchema[];
  readonly items?: ParameterSchema;
  readonly properties?: Readonly<Record<string, ParameterSchema>>;
  readonly required?: readonly string[];
  readonly default?: string | number;
  readonly description?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

/** JSON Schema of a tool's arguments. */
interface Parameters extends ParameterSchema {
  readonly type: "object";
  readonly properties: Readonly<Record<string, ParameterSchema>>;
}

/**
 * JSON Schema of a parameter, as plain data. It is a type, because frameworks do not accept an interface if their
 * schemas may have other keywords.
 */
export type ToolParameter = {
  type?: "string" | "integer" | "boolean" | "array" | "object";
  enum?: string[];
  items?: ToolParameter;
  properties?: { [name: string]: ToolParameter };
  required?: string[];
  default?: string | number;
  description?: string;
  minimum?: number;
  maximum?: number;
};

/** JSON Schema of a tool's arguments as programs get it. */
export type ToolParameters = {
  type: "object";
  properties: { [name: string]: ToolParameter };
  required: string[];
  /** Some frameworks require it. The tool refuses unknown parameters when it is called. */
  additionalProperties: true;
};

/** The type of the values that fit a schema; `unknown` for one without a type. */
export type Arguments<S> = S extends { readonly enum: readonly (infer Value)[] }
  ? Value
  : S extends { readonly anyOf: readonly (infer Branch)[] }
    ? Arguments<Branch>
    : S extends { readonly type: "array"; readonly items: infer Item }
      ? readonly Arguments<Item>[]
      : S extends { readonly type: "object"; readonly properties: infer Properties }
        ? ObjectOf<Properties, S extends { readonly required: readonly (infer Name)[] } ? Name : never>
        : S extends { readonly type: infer Type extends keyof Simple }
          ? Simple[Type]
          : unknown;

interface Simple {
  readonly string: string;
  readonly integer: number;
  readonly boolean: boolean;
}

type ObjectOf<Properties, Required> = {
  readonly [Name in keyof Properties as Name extends Required ? Name : never]: Arguments<Properties[Name]>;
} & {
  readonly [Name in keyof Properties as Name extends Required ? never : Name]?: Arguments<Properties[Name]>;
};

/** A parameter that takes any JSON value. */
export const JSON_VALUE = { description: "any JSON value; a string stays a string" } as const;

/**
 * A copy of a value as JSON; undefined if it is none: cyclic, nested too deep, with a BigInt or a
 * getter that throws.
 */
export function plainJson(value: unknown): Json | undefined {
  try {
    return jsonOf(value);
  } catch {
    return undefined;
  }
}

/**
 * The value, if no reader of its JSON has rounded a number of it. @throws RlmError
 * `invalid_argument`
 */
export function unrounded(tool: string, name: string, given: unknown): Json {
  const value = jsonOf(given);
  const rounded = roundedIn(value);
  if (!rounded) return value;
  const place = rounded.path === "" ? name : `${name}.${rounded.path}`;
  const problem = `${tool}: ${place} is ${rounded.value}, and whole numbers beyond 2^53 are rounded`;
  throw new RlmError("invalid_argument", problem, { suggestion: "Pass its digits as a string." });
}
