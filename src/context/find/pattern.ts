import { argumentError, type RlmError } from "../../../runtime/errors.ts";
import { messageOf } from "../../platform/errors.ts";
import { parse } from "./engine.ts";
import {
  fixedText,
  type Literal,
  longestFinish,
  longestMatch,
  looksOf,
  onlyLiterals,
  printCut,
  printExpression,
  type Required,
  readHir,
  requiredIn,
  spansLines,
} from "./hir.ts";
import { areFoundWhole } from "./literals.ts";
import { type NativePattern, nativePattern } from "./native.ts";

import { recent } from "./recent.ts";

/** A compiled pattern, for `find` only. */
export interface FindPattern {
  /** The pattern in Rust's syntax. */
  readonly source: string;
  /**
   * No match contains a line feed, and nothing in the pattern asks where the text begins or ends.
   */
  readonly lineLocal: boolean;
  /** It contains assertions, so matches depend on the character before them. */
  readonly looks: boolean;
  readonly asksForStart: boolean;
  /** Longest possible match, bytes of UTF-8; may be Infinity. */
  readonly maxBytes: number;
  /** Literals that each match has, by choices of which each is enough. */
  readonly required: readonly Required[];
  /** The literals that its matches are; undefined if they are more than that. */
  readonly literals: readonly Literal[] | undefined;
  readonly native: NativePattern | undefined;
  /**
   * The most characters that a match already begun can still need: the length of the run that
   * stands for the rest.
   */
  readonly finish: number;
  /**
   * The Rust pattern that, before a run of `stop`, finds the first match that can still be open at
   * its beginning.
   */
  openAtEnd(key: string): string;
  /** The Rust pattern that finds the matches of a piece of the text. */
  spelling(options: Piece): string;
}

/** Facts about a piece of the text that matter for a search. */
interface Piece {
  /**
   * The character whose run at its end stands for the rest of the text; undefined if no match
   * depends on the rest.
   */
  readonly stop: string | undefined;
  /** It begins with one character of context, which is reported as the first match. */
  readonly context: boolean;
}

const MAX_PATTERN_UNITS = 16 * 1024;
const FLAGS: Readonly<Record<string, string>> = { i: "i", m: "m", s: "s", g: "", u: "", d: "" };
const TEXT_LOOKS: readonly string[] = ["Start", "End", "StartCRLF", "EndCRLF"];

/** The compiled pattern of a source in Rust's syntax, with flags. */
export const patternOf = recent(20, analyse);

/**
 * Compiles a pattern in the syntax of Rust's regex crate, version 1.13. Flags: `i`, `m`, `s` as
 * there; `g`, `u`, `d` are ignored. What Rust refuses is read once more as JavaScript (`[^]`, a
 * literal `{`, `\0`, `\cX`, `[\b]`, surrogate pairs, `[` inside a class).
 * @throws RlmError a SyntaxError for the guest: bad pattern, unsupported construct, other flags,
 * more than 16,384 units.
 */
export function compileFind(pattern: string, flags: string): FindPattern {
  if (pattern.length > MAX_PATTERN_UNITS) {
    throw refusal(`the pattern has ${pattern.length} characters, the limit is ${MAX_PATTERN_UNITS}`, "Split it.");
  }
  const prefix = rustFlags(flags);
  let failure: unknown;
  for (const spelling of new Set([pattern, fromJavaScript(pattern, false), fromJavaScript(pattern, true)])) {
    try {
      return patternOf(prefix + spelling);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      failure ??= error;
    }
  }
  throw explain(failure, prefix, pattern);
}

function analyse(source: string): FindPattern {
  // The engine takes longer to load than most fixed texts to be found.
  const expression = fixedText(source) ?? readHir(parse(source));
  const looks = looksOf(expression);
  const literals = onlyLiterals(expression);
  const whole = recent(1, () => printExpression(expression));
  const cut = recent(1, (stop) => printCut(expression, stop));
  const openAtEnd = recent(1, (stop) => `(?:${cut(stop)})${stop}*\\z`);
  const afterContext = recent(2, (body) => `\\A(?s:.)|${body}`);
  const lineLocal = !spansLines(expression) && !looks.some((look) => TEXT_LOOKS.includes(look));
  return {
    source,
    lineLocal,
    looks: looks.length > 0,
    asksForStart: looks.includes("Start"),
    maxBytes: longestMatch(expression),
    required: requiredIn(expression).filter(({ before }) => lineLocal || Number.isFinite(before)),
    literals: literals && areFoundWhole(literals) ? literals : undefined,
    native: nativePattern(whole("")),
    finish: longestFinish(expression),
    openAtEnd,
    spelling({ stop, context }: Piece): string {
      if (stop !== undefined) return context ? afterContext(cut(stop)) : cut(stop);
      return context ? afterContext(whole("")) : source;
    },
  };
}

function rustFlags(flags: string): string {
  const letters = new Set(flags);
  for (const flag of letters) {
    if (FLAGS[flag] !== undefined) continue;
    throw refusal(
      `flag "${flag}" is not supported`,
      "Use any of i, m, s (g, u and d are accepted and change nothing).",
    );
  }
  const used = [...letters].map((flag) => FLAGS[flag]).join("");
  return used === "" ? "" : `(?${used})`;
}

/**
 * The error of a search, in the guest's words: for windows the pattern grows a little, and may then
 * be too large.
 */
export function searchError(error: unknown): unknown {
  return isRefusal(error) ? refusal(TOO_LARGE, SMALLER, error) : error;
}

const TOO_LARGE = "the compiled pattern is larger than 10 MB, or nested more than 250 deep";
const SMALLER = "Use smaller counted repetitions, or several patterns.";

function isRefusal(error: unknown): boolean {
  return error instanceof Error && /^regex parse error|size limit/.test(error.message);
}

function explain(failure: unknown, prefix: string, pattern: string): RlmError {
  const unsupported = unsupportedIn(pattern);
  if (unsupported !== undefined) {
    const { construct, index, suggestion } = unsupported;
    return refusal(`${construct} at index ${index} is not supported (linear-time matching)`, suggestion, failure);
  }
  const message = messageOf(failure);
  if (message.includes("size limit")) return refusal(TOO_LARGE, SMALLER, failure);
  const last = message.split("\n").at(-1) ?? message;
  return refusal(
    `${last.replace(/^error: /, "")}${positionIn(message, prefix, pattern)}`,
    "Patterns follow the syntax of Rust's regex crate; escape literal punctuation with a backslash.",
    failure,
  );
}

/**
 * The place of Rust's caret: under the pattern's only line, indented by four, or under a numbered
 * one of several.
 */
function positionIn(message: string, prefix: string, pattern: string): string {
  const lines = message.split("\n");
  const caret = lines.findIndex((line) => /^ +\^+$/.test(line));
  const column = lines[caret]?.indexOf("^");
  if (column === undefined) return "";
  const number = /^ *(\d+): /.exec(lines[caret - 1] ?? "");
  if (pattern.includes("\n") && number !== null) {
    const indent = number[0].length + (number[1] === "1" ? prefix.length : 0);
    return ` at line ${number[1]}, column ${column - indent}`;
  }
  const before = Array.from(prefix + pattern).slice(0, column - 4);
  return ` at index ${before.join("").length - prefix.length}`;
}

function refusal(problem: string, suggestion: string, cause?: unknown): RlmError {
  const error = argumentError("SyntaxError", `find: ${problem}`, suggestion);
  if (cause !== undefined) error.cause = cause;
  return error;
}

/** A text as a pattern that matches only it. */
export function escapePattern(text: string): string {
  return text.replace(/[\\.+*?()|[\]{}^$#&~-]/g, "\\$&");
}

interface Token {
  readonly text: string;
  readonly inClass: boolean;
}

/** Escapes and brackets that must not be torn apart; anything else is one character. */
const TOKEN =
  /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\[puxP]\{[^}]*\}|\\b\{[a-z-]+\}|\\k<[^>]*>|\\c[A-Za-z]|\\0(?!\d)|\\[1-9]|\\?[\s\S]/gy;
const GROUP = /\(\?(?:<?[=!]|>|P=\w*\)?)/y;
const QUANTIFIER = /\{\d*(?:,\d*)?\}/y;

/**
 * The first construct of the pattern that Rust's regex crate lacks because it cannot be matched in
 * linear time, and what to do instead.
 */
function unsupportedIn(pattern: string) {
  let index = 0;
  for (const { text, inClass } of tokensOf(pattern)) {
    const construct = inClass ? "" : text === "(" ? matchAt(GROUP, pattern, index) : text;
    const suggestion = adviceFor(construct);
    if (suggestion !== undefined) return { construct, index, suggestion };
    index += text.length;
  }
  return undefined;
}

/**
 * The pattern as JavaScript means it, spelled for Rust: `[^]`, a `{` that begins no quantifier,
 * `\0`, `\cX`, `[\b]`, surrogate pairs. With `brackets` also `[` inside a class, where Rust would
 * open a nested class.
 */
function fromJavaScript(pattern: string, brackets: boolean): string {
  let index = 0;
  let source = "";
  for (const token of tokensOf(pattern)) {
    source += spell(token, pattern, index, brackets);
    index += token.text.length;
  }
  return source;
}

function* tokensOf(pattern: string): Generator<Token> {
  let inClass = false;
  for (const [text] of pattern.matchAll(TOKEN)) {
    yield { text, inClass };
    if (text === "]") inClass = false;
    else if (text === "[") inClass = true;
  }
}

function spell({ text, inClass }: Token, pattern: string, index: number, brackets: boolean): string {
  if (text === "\\0") return "\\x00";
  if (text === "\\b" && inClass) return "\\x08";
  if (text === "[" && inClass && brackets) return "\\[";
  if (text === "^" && inClass && pattern.startsWith("[^]", index - 1)) return "\\s\\S";
  if (text === "{" && !inClass && matchAt(QUANTIFIER, pattern, index) === "") return "\\{";
  if (text.startsWith("\\c") && text.length === 3) return `\\x{${(text.charCodeAt(2) % 32).toString(16)}}`;
  if (text.length === 12 && text.startsWith("\\u")) {
    const units = [text.slice(2, 6), text.slice(8)].map((hex) => Number.parseInt(hex, 16));
    return `\\u{${String.fromCharCode(...units)
      .codePointAt(0)
      ?.toString(16)}}`;
  }
  return text;
}

function adviceFor(construct: string): string | undefined {
  if (/^\(\?<[=!]/.test(construct)) return "Match the text before as well, then slice the match in JavaScript.";
  if (/^\(\?[=!]/.test(construct))
    return "Match without it, then filter the matches in JavaScript with peek(start, end).";
  if (/^\\[1-9]|^\\k<|^\(\?P=/.test(construct)) return "Match both parts loosely, then compare them in JavaScript.";
  if (construct.startsWith("(?>"))
    return "Write (?: instead: find never backtracks, so the result is the same or wider.";
  return undefined;
}

function matchAt(sticky: RegExp, pattern: string, index: number): string {
  sticky.lastIndex = index;
  return sticky.exec(pattern)?.[0] ?? "";
}
