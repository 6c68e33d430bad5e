import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../../scripts/process.ts";

test("docs/documents.md names each loss that a reader tells", () => {
  const page = readFileSync(join(ROOT, "docs/documents.md"), "utf8");
  const sources = globSync("src/documents/**/*.ts", { cwd: ROOT }).map((path) =>
    readFileSync(join(ROOT, path), "utf8"),
  );
  const told = sources.flatMap((source) => [...source.matchAll(/\blose\("([^"]+)"/g)].map(([, kind = ""]) => kind));
  expect(new Set(told).size).toBeGreaterThan(20);
  expect(told.filter((kind) => !page.includes(`\`${kind}\``))).toEqual([]);
});
