import { globSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { builtins } from "../../builtins/index.ts";
import { ROOT } from "../../scripts/process.ts";

const FOLDER = join(ROOT, "builtins");

test("every file that defines a builtin is in the list, under the name of the file", async () => {
  const defined: string[] = [];
  for (const file of globSync("*.ts", { cwd: FOLDER })) {
    if (file === "index.ts") continue;
    const exports: object = await import(pathToFileURL(join(FOLDER, file)).href);
    for (const value of Object.values(exports)) {
      if (isDefinition(value)) defined.push(`${file}: ${value.name}`);
    }
  }
  const listed = builtins.map(({ name }) => `${name}.ts: ${name}`);
  expect(defined.toSorted()).toEqual(listed.toSorted());
});

test("every guest file is the source of a builtin", () => {
  const sources = builtins.flatMap(({ source }) => (source ? [basename(source.pathname)] : []));
  expect(globSync("*.guest.js", { cwd: FOLDER }).toSorted()).toEqual(sources.toSorted());
});

function isDefinition(value: unknown): value is { name: string } {
  return typeof value === "object" && value !== null && "signature" in value && "name" in value;
}
