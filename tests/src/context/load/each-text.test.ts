import { appendFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { textsAt } from "../../../../src/context/load/each-text.ts";
import { folderWith } from "../../../support/tree.ts";

const MB = 2 ** 20;

test.each<[string, (path: string) => void, boolean]>([
  ["shrinks", (path) => truncateSync(path, 2 * MB), true],
  ["is cut and grows again", (path) => writeFileSync(path, "b".repeat(18 * MB)), true],
  ["grows", (path) => appendFileSync(path, "more"), false],
  ["stays", () => {}, false],
])("a large file that %s while it is searched is told, if a part of it is lost", async (_how, change, isTold) => {
  const cwd = folderWith({ "a.log": "a".repeat(18 * MB) });
  const told: [string, boolean][] = [];
  const tell = (sentence: string, isDoubtful: boolean) => void told.push([sentence, isDoubtful]);
  for await (const text of textsAt(["a.log"], { cwd, roots: [cwd], tell })) {
    if ("reason" in text) throw new Error(text.reason);
    let chunks = 0;
    for await (const chunk of text.chunks) if (chunk.length > 0 && chunks++ === 0) change(join(cwd, "a.log"));
  }
  expect(told).toEqual(isTold ? [["a.log was changed while it was searched: search it again", true]] : []);
});
