import { execFileSync } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readCells } from "../../../src/cli/input/cells.ts";
import { folderWith } from "../../support/tree.ts";

function fifo(): string {
  const path = join(folderWith(), "cell.js");
  execFileSync("mkfifo", [path]);
  return path;
}

const cellsIn = (value: string, signal = new AbortController().signal) => readCells([{ option: null, value }], signal);

/** A pipe as a shell hands it over, with a writer that stays. */
function handedOver() {
  const pipe = openSync(fifo(), constants.O_RDWR | constants.O_NONBLOCK);
  onTestFinished(() => closeSync(pipe));
  return `/dev/fd/${pipe}`;
}

test("a pipe that a shell hands over holds nobody up, and a signal ends the wait", async () => {
  const stop = new AbortController();
  const cells = cellsIn(handedOver(), stop.signal);
  stop.abort();
  await expect(cells).rejects.toMatchObject({ name: "AbortError" });
});

test("what is no regular file is refused before it is read", async () => {
  const path = fifo();
  for (const [named, kind] of [
    [path, "FIFO"],
    ["/dev/zero", "device"],
  ] as const) {
    const message = `${named} is a ${kind}, not a regular file`;
    await expect(cellsIn(named)).rejects.toMatchObject({ code: "invalid_argument", message });
  }
});
