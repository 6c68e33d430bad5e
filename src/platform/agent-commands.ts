import * as v from "valibot";
import { nearest } from "./nearest.ts";

// Agents that are programs of the user's own. Only the user's file and a program's options name
// them, because they run with the user's rights.

const WORDS = "must be a list of a program and its arguments";
const words = v.pipe(
  v.array(v.string(WORDS), WORDS),
  v.check((all) => (all[0] ?? "") !== "", WORDS),
);
const PART = "must be a list of arguments";
const part = v.optional(v.array(v.string(PART), PART));
const POINTER = 'must be a JSON pointer, such as "/result"';
const pointer = v.optional(v.pipe(v.string(POINTER), v.startsWith("/", POINTER)));
const NAMES = "must be a list of names of environment variables";
const SECONDS = "must be a number of seconds above 0, at most 86,400";
const BYTES = "must be a number of bytes above 0, at most 1,000,000,000";
const TOKENS = "must be a number of tokens above 0";
const DOLLARS = "must be a number of dollars above 0";
const AT_ONCE = "must be a whole number from 1 to 100";
const PATTERN = "must be a regular expression of at most 500 characters, without look-around and back-references";

/**
 * True if a pattern can be matched in time that grows with the text alone: it has no look-around and
 * no back-references.
 */
function isLinear(pattern: string): boolean {
  const plain = pattern.replaceAll(/\\[^1-9k]/g, "").replaceAll(/\[(?:[^\]\\]|\\.){0,500}\]/g, "");
  return isPattern(pattern) && !/\(\?<?[=!]|\\[1-9k]/.test(plain);
}

function isPattern(pattern: string): boolean {
  try {
    return new RegExp(pattern) instanceof RegExp;
  } catch {
    return false;
  }
}

const positive = (what: string, most = Number.MAX_SAFE_INTEGER) =>
  v.optional(v.pipe(v.number(what), v.finite(what), v.gtValue(0, what), v.maxValue(most, what)));

/** An object with these keys and no others. @param of what they are keys */
function strict<const Entries extends v.ObjectEntries>(of: string, entries: Entries) {
  const keys = Object.keys(entries);
  return v.strictObject(entries, ({ expected, received }) => {
    if (expected === "Object") return "must be an object";
    if (expected !== "never") return "is missing";
    const meant = nearest(received.replaceAll('"', ""), keys);
    return `is no key of ${of}${meant ? `; did you mean ${meant}?` : `, whose keys are ${keys.join(", ")}`}`;
  });
}

/** JSON pointers into an agent's output. With `lines`, each refers to the last line that has it. */
export interface AgentOutput {
  /** It prints JSON lines, not one JSON value. */
  readonly lines?: boolean | undefined;
  /** The answer as text. */
  readonly text?: string | undefined;
  /** The answer as a value that fits the schema of the call. */
  readonly value?: string | undefined;
  /** The value there is true if the agent failed; its text then has the reason. */
  readonly failed?: string | undefined;
  /** The message of a failure. If there is one, the agent failed. */
  readonly error?: string | undefined;
  /** Tokens that it used, by kind. */
  readonly input?: string | undefined;
  readonly output?: string | undefined;
  readonly cache_read?: string | undefined;
  readonly cache_write?: string | undefined;
  /** Its price. */
  readonly cost_usd?: string | undefined;
}

/** Arguments that are added to a command if the call has such a value. */
export interface AgentArguments {
  /** With `{model}`. */
  readonly model?: readonly string[] | undefined;
  /** With `{effort}`. */
  readonly effort?: readonly string[] | undefined;
  /** With `{schema}` or `{schema_file}`. */
  readonly schema?: readonly string[] | undefined;
  /** With `{usd}`, if `max_usd` is set. */
  readonly usd?: readonly string[] | undefined;
}

/** A program that answers calls of workflows instead of a model. */
export interface AgentCommand {
  /** The program and its arguments. It reads the prompt from stdin, unless a word has `{prompt}` or `{prompt_file}`. */
  readonly command: readonly string[];
  readonly with?: AgentArguments | undefined;
  /** Places of the answer in its output. Absent: the whole output is the answer. */
  readonly output?: AgentOutput | undefined;
  /** Variables that it gets beside PATH, HOME and the like. */
  readonly env?: readonly string[] | undefined;
  /** Default: 3,600. */
  readonly timeout_s?: number | undefined;
  /** The most that it may print (default 20 MB). */
  readonly max_bytes?: number | undefined;
  /** Default: the number of cores less 2, from 2 to 16. */
  readonly at_once?: number | undefined;
  /** Tokens that are held while one agent runs, and charged if it does not report its usage. */
  readonly max_tokens?: number | undefined;
  readonly max_usd?: number | undefined;
  /** Starts an agent again whose end is unknown. Absent: the user decides. */
  readonly retry?: "safe" | undefined;
  /**
   * A pattern of failures that mean a limit of its account. The run then waits, instead of continuing without the
   * agent.
   */
  readonly limit?: string | undefined;
}

const Command: v.GenericSchema<unknown, AgentCommand> = strict("an agent", {
  command: words,
  with: v.optional(strict("with", { model: part, effort: part, schema: part, usd: part })),
  output: v.optional(
    strict("an output", {
      lines: v.optional(v.boolean("must be true or false")),
      text: pointer,
      value: pointer,
      failed: pointer,
      error: pointer,
      input: pointer,
      output: pointer,
      cache_read: pointer,
      cache_write: pointer,
      cost_usd: pointer,
    }),
  ),
  env: v.optional(v.array(v.pipe(v.string(NAMES), v.regex(/^[A-Za-z_]\w*$/, NAMES)), NAMES)),
  timeout_s: positive(SECONDS, 86_400),
  max_bytes: positive(BYTES, 1_000_000_000),
  at_once: v.optional(v.pipe(v.number(AT_ONCE), v.integer(AT_ONCE), v.minValue(1, AT_ONCE), v.maxValue(100, AT_ONCE))),
  max_tokens: positive(TOKENS),
  max_usd: positive(DOLLARS),
  retry: v.optional(v.picklist(["safe"], 'must be "safe"')),
  limit: v.optional(v.pipe(v.string(PATTERN), v.maxLength(500, PATTERN), v.check(isLinear, PATTERN))),
});

/** Agents by name. */
export interface AgentCommands {
  readonly [name: string]: AgentCommand;
}

const NAME = "must be a name of letters, digits, - and _, of at most 40 characters";
const AGENTS = 'must be an object such as { "claude": { "command": ["claude", "-p"] } }';

/** The table `agents` of the user's configuration. */
export const AgentsSchema = v.record(v.pipe(v.string(), v.regex(/^[A-Za-z][\w-]{0,39}$/, NAME)), Command, AGENTS);

/** Tokens that an agent holds while it runs, unless its entry has `max_tokens`. */
const RESERVED_TOKENS = 100_000;

/** Tokens and USD that an agent holds while it runs, and is charged if it does not say what it took. */
export function reservesOf({ max_tokens: tokens = RESERVED_TOKENS, max_usd: cost_usd = 0 }: AgentCommand): {
  readonly tokens: number;
  readonly cost_usd: number;
} {
  return { tokens, cost_usd };
}

/** The tokens that a workflow may take, unless its user sets another limit. */
export const WORKFLOW_TOKENS = 10_000_000;

/**
 * True if the tokens of an agent are not known: it does not tell them, and its entry does not say
 * what one may take. It then holds no tokens, unless the user limits them.
 */
export function isUncounted(command: AgentCommand, { max_tokens, isUsual }: TokenLimit): boolean {
  const isTold = !untoldBy(command).includes("tokens");
  return isUsual && max_tokens === WORKFLOW_TOKENS && command.max_tokens === undefined && !isTold;
}

/** The limit of tokens of a run. */
interface TokenLimit {
  readonly max_tokens: number;
  /** The user has set none. */
  readonly isUsual: boolean;
}

/** A figure that an agent does not tell: each answer counts as what it held of it. */
export type Untold = "tokens" | "dollars";

export function untoldBy({ output }: Pick<AgentCommand, "output">): readonly Untold[] {
  const tells = output?.input !== undefined || output?.output !== undefined;
  return [...(tells ? [] : (["tokens"] as const)), ...(output?.cost_usd === undefined ? (["dollars"] as const) : [])];
}

/** The name of an agent's model in records: `agent:claude/opus`. */
export function agentModelName(name: string, model: string | null | undefined): string {
  return `agent:${name}/${model ?? "default"}`;
}

/** True for the model of an agent in records. */
export const isAgentModel = (model: string): boolean => model.startsWith("agent:");

/** The part of a call's time in which its keeper ends an agent that took longer than its own, and tells of it, ms. */
export const KEEPER_MS = 30_000;
