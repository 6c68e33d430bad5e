import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeAnswerPictures } from "../../scripts/answer-pictures.ts";
import { ROOT } from "../../scripts/process.ts";
import { makePictures } from "../../scripts/view-pictures.ts";
import { COMMAND } from "../support/command.ts";
import { folderWith } from "../support/tree.ts";
import { CHROMIUM, launch } from "../support/view/chromium.ts";

const NAMES = ["view-light.png", "view-dark.png", "answer-light.png", "answer-dark.png"];

/** The width in the header of a PNG. */
const widthOf = (path: string) => readFileSync(path).readUInt32BE(16);

test.skipIf(CHROMIUM === undefined)(
  "pictures of the page are made, in light and dark",
  { timeout: 60_000 },
  async () => {
    const folder = folderWith();
    const browser = await launch();
    onTestFinished(() => browser.close());
    const page = await browser.newPage();
    await makePictures(page, folder, { calls: 14, awayMs: 0, command: COMMAND });
    await makeAnswerPictures(page, folder, COMMAND);
    const pictures = NAMES.map((name) => join(folder, name));
    expect(pictures.map(widthOf)).toEqual([1200, 1200, 1200, 1200]);
    const hashes = new Set(pictures.map((path) => readFileSync(path).toString("base64")));
    expect(hashes.size).toBe(4);
  },
);

test("the pictures of the documents are small", () => {
  for (const path of NAMES.map((name) => join(ROOT, "docs/pictures", name))) {
    expect(widthOf(path)).toBe(1200);
    expect(statSync(path).size).toBeLessThanOrEqual(120 * 1024);
  }
});
