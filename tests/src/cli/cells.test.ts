import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readCells } from "../../../src/cli/input/cells.ts";
import { folderWith } from "../../support/tree.ts";

function fifo(): string {
  const path = join(folderWith(), "cell.js");
  execFileSync("mkfifo", [path]);
  return path;
}

const cellsIn = (value: string, signal = new AbortController().signal) => readCells([{ option: null, value }], signal);

test("a cell may come from a pipe", async () => {
  const path = fifo();
  const cells = cellsIn(path);
  await writeFile(path, "1 + 1");
  expect(await cells).toEqual([{ name: path, source: "1 + 1" }]);
});

test("a pipe without a writer holds nobody up, and a signal ends the wait", async () => {
  const stop = new AbortController();
  const cells = cellsIn(fifo(), stop.signal);
  stop.abort();
  await expect(cells).rejects.toMatchObject({ name: "AbortError" });
});

test("a file without an end is refused once it is too large", async () => {
  await expect(cellsIn("/dev/zero")).rejects.toMatchObject({ code: "source_too_large" });
});
