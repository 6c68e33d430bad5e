import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { ENTRIES as BUILT } from "../../scripts/bundle.ts";
import { ROOT } from "../../scripts/process.ts";
import { ENTRIES, entryUrl } from "../../src/entries.ts";

test.each(ENTRIES)("%s has a file in the checkout and in a build", (entry) => {
  expect(existsSync(entryUrl(entry))).toBe(true);
  expect(BUILT).toContain(`src/${entry}`);
});

test.each(Object.values(packageJson.exports).filter((entry) => typeof entry === "object"))(
  "what $import.default is made from is built",
  (entry) => {
    const source = entry.import.default.replace(/^\.\/dist\/(.*)\.js$/, "$1");
    expect(BUILT).toContain(source);
    expect(existsSync(join(ROOT, `${source}.ts`))).toBe(true);
    expect(entry.import.types).toBe(`./dist/${source}.d.ts`);
    expect(entry.require).toEqual({ types: `./dist/${source}.d.cts`, default: entry.import.default });
  },
);
