import module from "node:module";
import { CellSyntaxError, offsetOf, outerReturn } from "./checks.ts";

/** A mistake that acorn found in a source which it read as JavaScript. */
export interface ScriptMistake extends SyntaxError {
  /** Offset in UTF-16 units. */
  readonly pos: number;
}

export function isScriptMistake(error: unknown): error is ScriptMistake {
  return error instanceof SyntaxError && "pos" in error && typeof error.pos === "number";
}

/**
 * Takes the types out of a source that JavaScript refuses: blanks stand for them, so that every
 * place stays. Node's own parser does it, in this thread, under the watchdog of its machine.
 *
 * @param mistake why the source is not JavaScript
 * @returns null if it is not TypeScript either
 * @throws CellSyntaxError for a mistake in TypeScript, for TypeScript that is more than types, and
 * for what the parser cannot hold
 */
export function withoutTypes(source: string, mistake: ScriptMistake): string | null {
  const isTyped = looksTyped(source, mistake.pos);
  if (nestsDeeply(source)) {
    if (isTyped) throw tooDeep();
    return null;
  }
  const stripped = withoutTypesOfObject(source) ?? strip(source);
  if (typeof stripped === "string") return stripped === source ? null : stripped;
  if (stripped.kind === "absent" && isTyped) throw withoutParser(placeOf(source, mistake.pos));
  const { line, column, message, kind } = stripped;
  if (kind === "unsupported") throw new CellSyntaxError(message, cureOf(message), { line, column });
  // JavaScript stopped at a type, and TypeScript came farther: the mistake lies there.
  if (!isTyped || isMarkup(source, mistake.pos) || offsetOf(source, line, column) <= mistake.pos) return null;
  if (message.startsWith("Return statement")) throw outerReturn({ line, column });
  throw new CellSyntaxError(message, "Fix the TypeScript at this line and column.", { line, column });
}

/**
 * True until the parser met what it cannot hold. It reads nothing more then, and the thread is not
 * used for another machine.
 */
export const canReadTypes = () => isUsable;

let isUsable = true;

interface Refusal {
  /**
   * `unsupported`: TypeScript that does something when it runs. `invalid`: not TypeScript.
   * `absent`: this Node was built without the parser.
   */
  readonly kind: "unsupported" | "invalid" | "absent";
  readonly message: string;
  readonly line: number;
  readonly column: number;
}

/** Code that begins with a brace may be an object, as it may be in JavaScript. */
function withoutTypesOfObject(source: string): string | null {
  if (!/^\s*\{/.test(source) || /;\s*$/.test(source)) return null;
  const stripped = strip(`(${source}\n)`);
  return typeof stripped === "string" ? stripped.slice(1, -2) : null;
}

function strip(source: string): string | Refusal {
  if (!isUsable) throw tooDeep();
  const { emitWarning } = process;
  // Node tells with a warning that the function is experimental.
  process.emitWarning = () => {};
  try {
    return module.stripTypeScriptTypes(source);
  } catch (error) {
    if (error instanceof SyntaxError) return refusalOf(error);
    if (codeOf(error) === "ERR_NO_TYPESCRIPT") return { kind: "absent", message: "", line: 1, column: 1 };
    // The parser ran out of its stack, and may be in any state.
    isUsable = false;
    throw tooDeep();
  } finally {
    process.emitWarning = emitWarning;
  }
}

function tooDeep(): CellSyntaxError {
  const suggestion = "Nest less, or leave the types out: plain JavaScript may nest deeper.";
  return new CellSyntaxError("TypeScript in this cell nests too deeply to be read", suggestion, { line: 1, column: 1 });
}

const codeOf = (error: unknown) => (error instanceof Error && "code" in error ? error.code : undefined);

function withoutParser(at: { line: number; column: number }): CellSyntaxError {
  const suggestion = "Leave the types out, or use a Node of nodejs.org.";
  return new CellSyntaxError("TypeScript is not supported: this Node was built without its parser", suggestion, at);
}

/** The place stands in the stack alone: `:LINE`, lines of the source, and a line of carets. */
function refusalOf(error: SyntaxError): Refusal {
  const [head = "", ...shown] = (error.stack ?? "").split("\n");
  const carets = shown.find((text) => /^\s*\^+\s*$/.test(text)) ?? "^";
  return {
    kind: codeOf(error) === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX" ? "unsupported" : "invalid",
    message: error.message.replace(/ in strip-only mode$| in type strip mode.*$/s, ""),
    line: Number(/^:(\d+)$/.exec(head)?.[1] ?? 1),
    column: carets.indexOf("^") + 1,
  };
}

/** Cures for TypeScript that is more than types, by Node's message. */
const CURES: readonly (readonly [RegExp, string])[] = [
  [/enum/, "Write an object for the enum: `const Color = { Red: 0, Green: 1 };`."],
  [/namespace|module/, "Write an object or plain functions for the namespace."],
  [/parameter property/, "Declare the field in the class, and assign it in the constructor: `this.x = x`."],
  [/angle-bracket/, "Write `value as Type` for `<Type>value`."],
  [/import|export/, "There are no modules here; the builtins are global: peek, find, search, memory, …."],
];

function cureOf(message: string): string {
  const known = CURES.find(([pattern]) => pattern.test(message));
  return known?.[1] ?? "A cell takes TypeScript whose types can be left out: write this in JavaScript.";
}

/**
 * True if what stands at an offset can begin a type, or follows a word that only TypeScript has
 * there.
 */
export function looksTyped(source: string, offset: number): boolean {
  if (/^(?:[:<!?]|as\b|satisfies\b)/.test(source.slice(offset, offset + 10))) return true;
  const before = source.slice(Math.max(0, offset - 40), offset);
  return /\b(?:interface|type|abstract|declare|readonly|private|public|protected|implements|enum|namespace)\s+$/.test(
    before,
  );
}

/** True if markup stands at an offset, which begins as a type may begin. */
export function isMarkup(source: string, offset: number): boolean {
  return /^<[\w>]/.test(source.slice(offset, offset + 2)) && source.includes("</", offset);
}

/**
 * True if brackets stand within more brackets than the parser's stack is sure to hold. Those in
 * texts count.
 */
function nestsDeeply(source: string): boolean {
  let depth = 0;
  for (const [bracket] of source.matchAll(/[([{}\])]/g)) {
    depth = Math.max(0, depth + ("([{".includes(bracket) ? 1 : -1));
    if (depth > MAX_DEPTH) return true;
  }
  return false;
}

/** Arrow functions in brackets overflow the parser at about 500 levels. */
const MAX_DEPTH = 250;

function placeOf(source: string, offset: number) {
  const before = source.slice(0, offset).split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
