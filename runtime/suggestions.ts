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
  if (name === "SyntaxError") return syntaxSuggestion(message, source);
  const missing = /^'?([\w$]+)'? is not defined$/.exec(message)?.[1];
  if (missing && younger.has(missing)) {
    return `This session began with an earlier version, and its guest could not be given ${missing}: load the context again to have it.`;
  }
  if (missing) return missingName(missing, [...reserved, ...younger, ...wordsLike(missing, source)]);
  if (name === "NeverSettlesError") return "Look at what the cell awaits: a promise that nothing resolves.";
  if (/call stack/.test(message)) return "Bound the recursion, or use a loop with a list of what is left to do.";
  if (/not a function$/.test(message)) return "Check the name of the method and the type of the value it is called on.";
  if (/cannot read property .* of (undefined|null)/.test(message)) {
    return "Check that the value exists before reading from it, for instance with `?.`.";
  }
  if (/read-only/.test(message)) return "Assign to a new name.";
  return "Read the traceback, change the cell and run it again.";
}

const ABSENT: Readonly<Record<string, string>> = {
  setTimeout: "There are no timers here; await a builtin, or use a loop.",
  setInterval: "There are no timers here; use a loop.",
  fetch: "There is no network here; the context is P: peek, find and search read it.",
  process: "There is no process object here; session() and limits() tell what there is to know.",
  Buffer: "There is no Buffer here; use strings or Uint8Array.",
  fs: "There are no files here; the loaded context is P, its documents are in list_docs().",
  structuredClone: "structuredClone is not available; use JSON.parse(JSON.stringify(value)).",
  module: "There are no modules here; top-level names persist from cell to cell.",
  exports: "There are no modules here; top-level names persist from cell to cell.",
  len: "JavaScript has no len(): use value.length.",
  str: "JavaScript has no str(): use String(value).",
  None: "JavaScript has null, not None.",
  True: "JavaScript has true, not True.",
  False: "JavaScript has false, not False.",
  SHOW_VARS: "Look at Object.keys(globalThis).",
};

function missingName(name: string, names: readonly string[]): string {
  const meant = name.length <= NAME_UNITS ? nearest(name, names) : undefined;
  const cure = meant ? `Did you mean ${meant}? If not, define ${name}` : `Check the spelling of ${name}, or define it`;
  return ABSENT[name] ?? `${cure} before this line.`;
}

/** Words of a cell that may be the name which was meant. */
function wordsLike(name: string, source: string): string[] {
  const words = new Set(source.slice(0, SOURCE_UNITS).match(/[\w$]+/g));
  return [...words].filter((word) => word !== name && Math.abs(word.length - name.length) <= 2);
}

const [NAME_UNITS, SOURCE_UNITS] = [40, 100_000];

const PYTHON =
  /^\s*(def \w+\(|elif |from \w+ import )|^\s*(for \w+ in|if|while|elif|else|try|except|with|class)\b[^{;]*:\s*(#.*)?$/m;

function syntaxSuggestion(message: string, source: string): string {
  if (PYTHON.test(source)) return "This looks like Python: cells are JavaScript.";
  if (/: ''$|unexpected end|unterminated/i.test(message)) return "The cell ends too early: close what is open.";
  if (/await/.test(message)) return "Use await at the top level or in an async function.";
  if (/redefinition|already been declared/.test(message)) return "Declare the name once in a cell.";
  if (/^[A-Z][a-z]+( [a-z]+){2,}/.test(source.trim())) {
    return "This looks like prose: send JavaScript alone, with prose in comments.";
  }
  return "Fix the syntax at the line and column named in the traceback.";
}
