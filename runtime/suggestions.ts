import { parse } from "acorn";
import { isMarkup, isScriptMistake, type ScriptMistake } from "./cells/typescript.ts";
import type { GuestLibrary } from "./library.ts";
import { nearest } from "./nearest.ts";

/**
 * Returns a cure for a mistake in a cell, which is found by the engine's own message.
 *
 * @param builtins their names; a guest of an earlier version may lack the younger ones
 */
export function suggestionFor(
  name: string,
  message: string,
  source: string,
  { reserved, younger }: Pick<GuestLibrary, "reserved" | "younger"> = { reserved: new Set(), younger: new Set() },
): string {
  if (name === "SyntaxError") return syntaxCure(message, source);
  const missing = /^'?([\w$]+)'? is not defined$/.exec(message)?.[1];
  if (missing && younger.has(missing)) {
    return `This session began with an earlier version, and its guest could not be given ${missing}: load the context again to have it.`;
  }
  if (missing) return missingName(missing, [...reserved, ...younger, ...wordsLike(missing, source)]);
  if (name === "NeverSettlesError") return "Look at what the cell awaits: a promise that nothing resolves.";
  if (/call stack/.test(message)) return "Bound the recursion, or use a loop with a list of what is left to do.";
  const method = /^console\.(\w+) is not a function$/.exec(message)?.[1];
  if (method) return `There is no console.${method} here: console has log, info, debug, warn, error and table.`;
  if (/not a function$/.test(message)) return "Check the name of the method and the type of the value it is called on.";
  if (/cannot read property .* of (undefined|null)/.test(message)) {
    return "Check that the value exists before reading from it, for instance with `?.`.";
  }
  if (/read-only/.test(message)) return "Assign to a new name.";
  return "Read the traceback, change the cell and run it again.";
}

/** Globals of Node, browsers and other languages, each with what a cell has for it. */
const ABSENT: ReadonlyMap<string, string> = new Map([
  ...absent("setTimeout setInterval setImmediate clearTimeout clearInterval", "await a builtin, or use a loop"),
  ...absent("fetch XMLHttpRequest WebSocket Headers Request Response", "peek, find and search read the context P"),
  ...absent("process Deno Bun", "see session() and limits()"),
  ...absent("Buffer Blob File", "use TextEncoder, TextDecoder and Uint8Array"),
  ...absent("fs", "the context is P, and list_docs() has its documents"),
  ...absent("module exports __dirname __filename", "top-level names last from cell to cell"),
  ...absent("global window", "globalThis has the globals"),
  ...absent("localStorage sessionStorage", "memory.put(key, value) keeps a value"),
  ...absent("Intl", "toLocaleString(locale, options) and localeCompare(other, locale, options) do its work"),
  ...absent("crypto", "Math.random() gives numbers"),
  ...absent("Worker MessageChannel BroadcastChannel Atomics", "await Promise.all([…]) runs calls at once"),
  ...absent("AbortController AbortSignal EventTarget Event ReadableStream FormData WebAssembly navigator Temporal"),
  ["len", "JavaScript has no len(): use value.length."],
  ["str", "JavaScript has no str(): use String(value)."],
  ["None", "JavaScript has null, not None."],
  ["True", "JavaScript has true, not True."],
  ["False", "JavaScript has false, not False."],
  ["SHOW_VARS", "Look at Object.keys(globalThis)."],
]);

/** `There is no crypto here; …`, for each of the names. */
function absent(names: string, instead?: string): [name: string, cure: string][] {
  const end = instead === undefined ? "." : `; ${instead}.`;
  return names.split(" ").map((name) => [name, `There is no ${name} here${end}`]);
}

function missingName(name: string, names: readonly string[]): string {
  const meant = name.length <= NAME_UNITS ? nearest(name, names) : undefined;
  const cure = meant ? `Did you mean ${meant}? If not, define ${name}` : `Check the spelling of ${name}, or define it`;
  return ABSENT.get(name) ?? `${cure} before this line.`;
}

/** Words of a cell that may be the name which was meant. */
function wordsLike(name: string, source: string): string[] {
  const words = new Set(source.slice(0, SOURCE_UNITS).match(/[\w$]+/g));
  return [...words].filter((word) => word !== name && Math.abs(word.length - name.length) <= 2);
}

const NAME_UNITS = 40;
const SOURCE_UNITS = 100_000;

/**
 * Returns a cure for a source that is not valid JavaScript, by the engine's message and by what the
 * source looks like.
 */
export function syntaxCure(message: string, source: string): string {
  const other = pythonCure(source.slice(0, LOOKED_AT)) ?? characterCure(source);
  if (other) return other;
  if (/: ''$|unexpected end|unterminated/i.test(message)) return "The cell ends too early: close what is open.";
  if (/await/.test(message)) return "Use await at the top level or in an async function.";
  if (/redefinition|already been declared/.test(message)) return "Declare the name once in a cell.";
  if (/^[A-Z][a-z]+( [a-z]+){2,}/.test(source.trim())) {
    return "This looks like prose: send JavaScript alone, with prose in comments.";
  }
  return "Fix the syntax at the line and column named in the traceback.";
}

/** Patterns look at so many units of a source alone, since some look ahead from each place. */
const LOOKED_AT = 2000;

/** Statements that only Python has. */
const PYTHON: readonly RegExp[] = [
  /^\s*(?:def \w+\(|elif |from [\w.]+ import |import [\w.]+(?: as \w+)?(?:, *[\w.]+)*[ \t]*$)/m,
  /^\s*(?:for [\w, ]+ in|if|while|elif|else|try|except|with|class)\b[^{;]*:\s*(?:#.*)?$/m,
  /^\s*(?:if|elif|while|for) [^({\n][^;{\n]*:\s*\S/m,
  /^\s*print\s+(?:["'\w]|f["'])/m,
  /[[({=]\s*[^\n]*\bfor [\w, ]+ in [^\n]+[\])}]/,
  /\blambda [\w, ]*:/,
  /^\s*#(?!!)/m,
  /"""/,
];

function pythonCure(source: string): string | undefined {
  const like = "This looks like Python";
  const slice = /([\w.]+|[)\]])\[(-?\w*):(-?\w*)\]/.exec(source);
  if (slice) {
    const [, of = "", from = "", to = ""] = slice;
    const name = /^\w/.test(of) ? of : "value";
    return `${like}: cells are JavaScript, and a part is ${name}.slice(${from || 0}${to && `, ${to}`}).`;
  }
  if (/(?:^|[^\w.$])[fF](?:"|')/.test(source)) {
    return `${like}: cells are JavaScript, and a text with values is written in backquotes: \`\${P.length} chars\`.`;
  }
  return PYTHON.some((pattern) => pattern.test(source)) ? `${like}: cells are JavaScript.` : undefined;
}

/**
 * Names a character that is not JavaScript, such as a bracket of another script, or markup between
 * statements.
 */
function characterCure(source: string): string | undefined {
  const mistake = mistakeIn(source);
  if (!mistake) return undefined;
  if (isMarkup(source, mistake.pos)) return "There is no JSX here: write markup as a text, in quotes or backquotes.";
  const [, character] = /^Unexpected character '(\P{ASCII}+)'/u.exec(mistake.message) ?? [];
  if (character === undefined) return undefined;
  const code = character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0");
  const meant = PLAIN[character] ?? character.normalize("NFKC");
  const cure = /^[\x21-\x7e]$/.test(meant) ? `write ${meant} for it` : "take it out, or put it in quotes";
  return `JavaScript does not know the character ${character} (U+${code}): ${cure}.`;
}

/** The first mistake that acorn finds; undefined if it finds none, or cannot read the source. */
function mistakeIn(source: string): ScriptMistake | undefined {
  try {
    parse(source, { ecmaVersion: "latest", allowAwaitOutsideFunction: true, allowHashBang: true });
  } catch (error) {
    if (isScriptMistake(error)) return error;
  }
  return undefined;
}

/** ASCII for characters that word processors put in. */
const PLAIN: Readonly<Record<string, string>> = {
  "“": '"',
  "”": '"',
  "„": '"',
  "«": '"',
  "»": '"',
  "‘": "'",
  "’": "'",
  "‚": "'",
  "–": "-",
  "—": "-",
  "−": "-",
  "×": "*",
  "÷": "/",
};
