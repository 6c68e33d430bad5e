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
  const prelude = expression(readGuestFile(new URL("./prelude.guest.js", import.meta.url)));
  const list = modules.map((module) => expression(module.source)).join(",\n");
  return `((post, config) => ${prelude}(post, JSON.parse(config), [${list}]))`;
}

/** A file holds one parenthesised expression and may end in a semicolon. */
function expression(source: string): string {
  return source.trim().replace(/;$/, "");
}
