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

/** The prelude's parts, each given what those before it made. */
const PARTS = ["primordials", "inspect", "errors", "render", "ambient", "prelude"] as const;

/** The prelude with its modules as one expression of (post, config). */
export function preludeSource(modules: readonly GuestModule[]): string {
  const [primordials, inspect, errors, render, ambient, prelude] = PARTS.map((part) =>
    expression(readGuestFile(new URL(`./guest/${part}.guest.js`, import.meta.url))),
  );
  const list = modules.map((module) => expression(module.source)).join(",\n");
  return `((post, json) => {
    const config = JSON.parse(json);
    let kit = ${primordials}();
    kit = { __proto__: null, ...kit, ...${inspect}(kit) };
    kit = { __proto__: null, ...kit, ...${errors}(kit, config) };
    kit = { __proto__: null, ...kit, ...${render}(kit) };
    kit = { __proto__: null, ...kit, ...${ambient}(kit) };
    return ${prelude}(post, config, [${list}], kit);
  })`;
}

/** A file holds one parenthesised expression and may end in a semicolon. */
function expression(source: string): string {
  return source
    .replace(/^(\/\/.*\n)+/, "")
    .trim()
    .replace(/;$/, "");
}
