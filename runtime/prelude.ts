import { readFileSync } from "node:fs";

/**
 * Guest code that a library adds to the prelude: a function expression of (guest), run once when a
 * guest is made.
 */
export interface GuestModule {
  readonly name: string;
  readonly source: string;
}

const guestFiles = new Map<string, string>();

/**
 * Reads a guest file that stands beside a module, once in a thread: each machine that opens asks
 * for some twenty.
 */
export function readGuestFile({ href }: URL): string {
  const source = guestFiles.get(href) ?? readFileSync(new URL(href), "utf8");
  guestFiles.set(href, source);
  return source;
}

/**
 * Parameters of each part of guest code, in the order of their making. A part adds what it returns
 * to `kit`.
 */
const PARTS: readonly (readonly [file: string, given: string])[] = [
  ["primordials", ""],
  ["inspect", "kit"],
  ["errors", "config, own, kit"],
  ["render", "kit"],
  ["calls", "post, kit"],
  ["async-calls", "post, config, kit"],
  ["names", "config, own, kit"],
  ["modules", "post, kit"],
];

/** Parts that only a new guest has. */
const PARTS_OF_NEW_GUESTS: typeof PARTS = [
  ["ambient", "kit"],
  ["table", "kit"],
  ["output", "post, config, kit"],
  ["result", "post, config, kit"],
  ["injected", "kit"],
  ["locale", "kit"],
  ["encoding", "kit"],
  ["url", "kit"],
  ["clone", "kit"],
  ["weak", "kit"],
];

/**
 * The prelude with its modules, as one expression of (post, config). Its value is what the host
 * enters the guest by.
 */
export function preludeSource(modules: readonly GuestModule[]): string {
  const list = modules.map((module) => expression(module.source)).join(",\n");
  return `((post, json) => {
    const own = { __proto__: null };
    ${kit([...PARTS, ...PARTS_OF_NEW_GUESTS])}
    return { ...${part("prelude")}(config, [${list}], kit), builtins: own };
  })`;
}

/**
 * Guest code that brings a guest of an earlier prelude the builtins which it lacks, as an
 * expression of (post, config, enter, inject, builtins). Its value has the same last three, to be
 * used from then on. `builtins` holds every builtin; if the guest has none, it is undefined.
 */
export function extensionSource(modules: readonly GuestModule[]): string {
  const list = modules.map(({ name, source }) => `[${JSON.stringify(name)}, ${expression(source)}]`).join(",\n");
  return `((post, json, enter, inject, builtins) => {
    const own = builtins ?? { __proto__: globalThis };
    ${kit(PARTS)}
    return { ...${part("extension")}(config, own, [${list}], { enter, inject }, kit), builtins: own };
  })`;
}

const kit = (parts: typeof PARTS) =>
  [
    "const config = JSON.parse(json);",
    "let kit = { __proto__: null };",
    ...parts.map(([file, given]) => `kit = { __proto__: null, ...kit, ...${part(file)}(${given}) };`),
  ].join("\n");

const part = (name: string) => expression(readGuestFile(new URL(`./guest/${name}.guest.js`, import.meta.url)));

/** A file holds one parenthesised expression and may end in a semicolon. */
function expression(source: string): string {
  return source
    .replace(/^(\/\/.*\n)+/, "")
    .trim()
    .replace(/;$/, "");
}
