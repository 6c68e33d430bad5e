import { appendFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { textsAt, textsOfStream } from "../../../../src/context/load/each-text.ts";
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

test("the words of a stream in ISO-2022-JP are searched, and its encoding is told", async () => {
  const told: string[] = [];
  async function* stream(): AsyncIterable<Uint8Array> {
    yield Buffer.from("Re: \u001b$BF|K\\8l\u001b(B ok\n".repeat(1000), "latin1");
  }
  const options = { cwd: ".", roots: ["."], tell: (sentence: string) => void told.push(sentence) };
  let said = "";
  for await (const text of textsOfStream(stream(), "stdin", options)) {
    if ("reason" in text) throw new Error(text.reason);
    for await (const chunk of text.chunks) said += Buffer.from(chunk);
  }
  expect(said).toBe("Re: \u65e5\u672c\u8a9e ok\n".repeat(1000));
  expect(told).toEqual(["stdin: read as iso-2022-jp"]);
});
