import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, test } from "vitest";
import { BUNDLED } from "../support/command.ts";

/** The files that Node links before the first line of this one runs, and the modules of Node's own that they name. */
function linkedBy(file: string, known = new Set<string>()): ReadonlySet<string> {
  known.add(relative(BUNDLED, file));
  for (const [, from = ""] of readFileSync(file, "utf8").matchAll(/^(?:import|export) (?:[^"]* from )?"([^"]+)";$/gm)) {
    if (!from.startsWith(".")) known.add(from);
    else if (!known.has(relative(BUNDLED, join(dirname(file), from)))) linkedBy(join(dirname(file), from), known);
  }
  return known;
}

test("the command looks at the version of Node before anything is linked that an old one lacks", () => {
  const [main, guard, ...others] = linkedBy(join(BUNDLED, "src/cli/main.js"));
  expect([main, guard?.replace(/-[\w-]+\.js$/, ""), others]).toEqual(["src/cli/main.js", "chunks/guard", []]);
});
