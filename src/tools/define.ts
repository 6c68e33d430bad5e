import { type ErrorCode, type Json, RlmError, remedy } from "../../runtime/index.ts";
import type { ObjectSource } from "../context/index.ts";
import { compare } from "../model/schema/compare.ts";
import { messageOf } from "../platform/errors.ts";
import { nearest } from "../platform/nearest.ts";
import type { EndExtras, LoadResult, QueryEnvelope, Session } from "../session/index.ts";
import type { Conversation } from "./conversation.ts";
import { jsonOf } from "./json-value.ts";
import type { Arguments, ParameterSchema, Parameters } from "./parameters.ts";

/** A tool's answer: JSON, by wire names. Failures have `error_code`, `error_message` and `suggestion`. */
export type ToolEnvelope = { readonly success: boolean; readonly [field: string]: Json };

/** Conditions under which a call runs. */
export interface ToolCall {
  /** Folder of the project, absolute. */
  readonly cwd: string;
  /** Aborting ends the exec as `cancelled`. */
  readonly signal: AbortSignal;
  /** Aborting suspends the exec: it can be resumed. */
  readonly suspend: AbortSignal;
  /** The model that writes the cells of an ask, `provider/id`; default: the session's. */
  readonly rootModel?: string;
  /** The conversation in which it is made, if the host has one. */
  readonly conversation?: Conversation;
  /** The most that rlm_ingest may add at once; default: what a context may hold. @throws RlmError `invalid_config` */
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

/** A tool that a host offers to its model: its words, its parameters, and what it does with a session. */
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
   * Never rejects: what goes wrong is an envelope. `open` gives the session of the host's branch, and is called once
   * the arguments are known to be right.
   */
  run(open: () => Promise<Session>, args: unknown, call: ToolCall): Promise<ToolEnvelope>;
  /** The answer of a call that another process finished; null for calls that change nothing and are not execs. */
  recorded(args: unknown, call: RecordedCall): Promise<ToolEnvelope | null>;
  /** The rest of a call whose exec another process finished, if the call has one more exec; null: nothing. */
  next(args: unknown, call: RecordedCall): ((session: Session) => Promise<ToolEnvelope>) | null;
  /** A success is answered with its field `text` alone. */
  readonly answersText: boolean;
  /** The answer if an exec failed. */
  failed(failure: Failure): ToolEnvelope;
}

export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly suggestion: string;
}

/** Fields that every definition has. */
interface Told<P extends Parameters> {
  readonly name: string;
  readonly label: string;
  readonly description: string;
  readonly promptSnippet: string;
  readonly guidelines?: readonly string[];
  readonly parameters: P;
  readonly rest?: string;
  readonly answersText?: boolean;
  /** Parameters that it once had, and the tool that has them now. */
  readonly moved?: Readonly<Record<string, string>>;
  /** The fields of a failure in place of each field of a success. */
  readonly failureFields: object;
}

interface Definition<P extends Parameters> extends Told<P> {
  /** @throws RlmError, which becomes the answer */
  run(session: Session, args: Arguments<P>, call: ToolCall): Promise<object>;
  recorded?(args: Arguments<P>, call: RecordedCall): object | Promise<object>;
  next?(args: Arguments<P>, call: RecordedCall): ((session: Session) => Promise<object>) | null;
}

export function defineTool<const P extends Parameters>(definition: Definition<P>): Tool {
  return toolOf(definition, async (open, args, call) => definition.run(await open(), args, call));
}

/** A tool that its host answers: which session there is, and what runs in it. It opens none by itself. */
export function defineHostTool<const P extends Parameters>(
  definition: Told<P> & { run(args: Arguments<P>, call: ToolCall): Promise<object> },
): Tool {
  return toolOf(definition, (_open, args, call) => definition.run(args, call));
}

/** A tool over the conversation in which it is called. It opens no session. */
export function defineConversationTool<const P extends Parameters>(
  definition: Told<P> & { run(conversation: Conversation, args: Arguments<P>, call: ToolCall): Promise<object> },
): Tool {
  return toolOf(definition, (_open, args, call) => {
    return definition.run(conversationOf(definition.name, call), args, call);
  });
}

/** @throws RlmError `context_not_loaded` */
export function conversationOf(tool: string, { conversation }: Pick<ToolCall, "conversation">): Conversation {
  if (conversation) return conversation;
  const suggestion = "Call it where a conversation is kept, as in Pi.";
  throw new RlmError("context_not_loaded", `${tool}: there is no conversation here`, { suggestion });
}

/** A tool over the conversation whose exec begins later: it opens the session by itself, once it is known what is to be run. */
export function defineReadingTool<const P extends Parameters>(
  definition: Told<P> &
    Pick<Definition<P>, "recorded" | "next"> & {
      run(open: () => Promise<Session>, args: Arguments<P>, call: ToolCall): Promise<object>;
    },
): Tool {
  return toolOf(definition, definition.run);
}

function toolOf<P extends Parameters>(
  definition: Told<P> & Pick<Definition<P>, "recorded" | "next">,
  run: (open: () => Promise<Session>, args: Arguments<P>, call: ToolCall) => Promise<object>,
): Tool {
  const { name, label, description, promptSnippet, parameters, failureFields } = definition;
  const failed = ({ code, message, suggestion }: Failure) =>
    wire({ success: false, error_code: code, error_message: message, suggestion, ...failureFields });
  return {
    name,
    label,
    description,
    promptSnippet,
    parameters,
    guidelines: definition.guidelines ?? [],
    answersText: definition.answersText ?? false,
    rest: definition.rest ?? "Ask for less, or read the values in rlm_exec and print slices of them.",
    async run(open, args, call) {
      try {
        if (!areRight(parameters, args)) throw wrongArguments(name, parameters, args);
        checkMoved(definition, args);
        checkKeys(name, parameters, args);
        return wire(await run(open, args, call));
      } catch (error) {
        return failed(failureOf(error, call));
      }
    },
    async recorded(args, call) {
      if (!definition.recorded || !areRight(parameters, args)) return null;
      return wire(await definition.recorded(args, call));
    },
    next(args, call) {
      const rest = areRight(parameters, args) ? (definition.next?.(args, call) ?? null) : null;
      return rest && (async (session) => wire(await rest(session)));
    },
    failed,
  };
}

function wire(fields: object): ToolEnvelope {
  return { success: true, ...JSON.parse(JSON.stringify(fields)) };
}

function failureOf(error: unknown, { signal }: ToolCall): Failure {
  if (error instanceof RlmError) return error;
  const code: ErrorCode = signal.aborted ? "cancelled" : "machine_lost";
  const message = messageOf(error);
  return {
    code,
    message,
    suggestion: signal.aborted
      ? "Call the tool again."
      : `Call the tool again; if it fails again, ${remedy("verify")}.`,
  };
}

/** Problems of arguments, in words. Schemas of tools have no patterns. */
function problemsIn(parameters: Parameters, args: unknown): readonly string[] {
  const schema = jsonOf(parameters);
  return compare(schema, jsonOf(args), schema, () => true);
}

function areRight<P extends Parameters>(parameters: P, args: unknown): args is Arguments<P> {
  return problemsIn(parameters, args).length === 0;
}

function wrongArguments(name: string, parameters: Parameters, args: unknown): RlmError {
  const [problem = "the value does not fit"] = problemsIn(parameters, args);
  // The place is a JSON pointer.
  const told = problem
    .replace(/^\/\S+/, (pointer) => pointer.slice(1).replaceAll("/", "."))
    .replace(/^the value\b/, "the call");
  return new RlmError("invalid_argument", `${name}: ${told}`, {
    suggestion: `Parameters are ${Object.keys(parameters.properties).join(", ") || "none"}.`,
  });
}

/** @throws RlmError `invalid_argument` */
function checkMoved({ name, moved = {} }: Pick<Told<Parameters>, "name" | "moved">, args: object): void {
  for (const [key, taker] of Object.entries(moved)) {
    if (!(key in args)) continue;
    const suggestion = `Call ${taker} with ${key}.`;
    throw new RlmError("invalid_argument", `${name}: it takes no ${key} any more`, { suggestion });
  }
}

/**
 * Looks for parameters that there are not: one that is misspelt would be ignored. The schema does not forbid them, since
 * that would cost tokens in every request. @throws RlmError `invalid_argument`
 */
function checkKeys(place: string, schema: ParameterSchema | undefined, value: object): void {
  if (!schema?.properties) return;
  const known = Object.keys(schema.properties);
  for (const [key, inner] of Object.entries(value)) {
    if (!known.includes(key)) throw unknownKey(place, key, known);
    if (typeof inner === "object" && inner !== null) checkKeys(`${place}: ${key}`, schema.properties[key], inner);
  }
}

function unknownKey(place: string, key: string, known: readonly string[]): RlmError {
  const meant = nearest(key, known);
  return new RlmError("invalid_argument", `${place}: unknown ${key}${meant ? `; did you mean ${meant}?` : ""}`, {
    suggestion: `Parameters here are ${known.join(", ") || "none"}.`,
  });
}
