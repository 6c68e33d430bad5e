import { readFileSync } from "node:fs";

/** Guest code that a library adds to the prelude: a function expression of (guest), run once when a guest is made. */
export interface GuestModule {
  readonly name: string;
  readonly source: string;
}

/** Reads a guest file that stands beside a module. */
export function readGuestFile(url: URL): string {
  return readFileSync(url, "utf8");
}

/** The prelude with its modules as one expression of (post, config). */
export function preludeSource(modules: readonly GuestModule[]): string {
  const list = modules.map((module) => expression(module.source)).join(",\n");
  return `((post, json) => {
    const own = { __proto__: null };
    ${kit()}
    kit = { __proto__: null, ...kit, ...${part("ambient")}(kit) };
    return { ...${part("prelude")}(post, config, [${list}], kit), builtins: own };
  })`;
}

/**
 * What brings a guest of an earlier prelude the builtins that it lacks, as an expression of (post, config, builtins): the object
 * that holds every builtin, which it also gives back. A guest that has none gets one.
 */
export function extensionSource(modules: readonly GuestModule[]): string {
  const list = modules.map(({ name, source }) => `[${JSON.stringify(name)}, ${expression(source)}]`).join(",\n");
  return `((post, json, builtins) => {
    const own = builtins ?? { __proto__: globalThis };
    ${kit()}
    ${part("extension")}(config, own, [${list}], kit);
    return own;
  })`;
}

/** The parts that every other one needs, each given what those before it made. */
const kit = () => `const config = JSON.parse(json);
    let kit = ${part("primordials")}();
    kit = { __proto__: null, ...kit, ...${part("inspect")}(kit) };
    kit = { __proto__: null, ...kit, ...${part("errors")}(kit, config) };
    kit = { __proto__: null, ...kit, ...${part("render")}(kit) };
    kit = { __proto__: null, ...kit, ...${part("calls")}(post, kit) };
    kit = { __proto__: null, ...kit, ...${part("names")}(config, own, kit) };`;

const part = (name: string) => expression(readGuestFile(new URL(`./guest/${name}.guest.js`, import.meta.url)));

/** A file holds one parenthesised expression and may end in a semicolon. */
function expression(source: string): string {
  return source
    .replace(/^(\/\/.*\n)+/, "")
    .trim()
    .replace(/;$/, "");
}
