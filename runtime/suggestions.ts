import { syntaxCure } from "./cells/mistakes.ts";
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
  ...told("setTimeout setInterval setImmediate clearTimeout clearInterval", "await a builtin, or use a loop"),
  ...told("fetch XMLHttpRequest WebSocket Headers Request Response", "peek, find and search read the context P"),
  ...told("process Deno Bun", "see session() and limits()"),
  ...told("Buffer Blob File", "use TextEncoder, TextDecoder and Uint8Array"),
  ...told("fs", "the context is P, and list_docs() has its documents"),
  ...told("module exports __dirname __filename", "top-level names last from cell to cell"),
  ...told("global window", "globalThis has the globals"),
  ...told("localStorage sessionStorage", "memory.put(key, value) keeps a value"),
  ...told("Intl", "toLocaleString(locale, options) and localeCompare(other, locale, options) do its work"),
  ...told("crypto", "Math.random() gives numbers"),
  ...told("Worker MessageChannel BroadcastChannel Atomics", "await Promise.all([…]) runs calls at once"),
  ...told("AbortController AbortSignal EventTarget Event ReadableStream FormData WebAssembly navigator Temporal"),
  ["len", "JavaScript has no len(): use value.length."],
  ["str", "JavaScript has no str(): use String(value)."],
  ["None", "JavaScript has null, not None."],
  ["True", "JavaScript has true, not True."],
  ["False", "JavaScript has false, not False."],
  ["SHOW_VARS", "Look at Object.keys(globalThis)."],
]);

/** `There is no crypto here; …`, for each of the names. */
function told(names: string, instead?: string): [name: string, cure: string][] {
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
