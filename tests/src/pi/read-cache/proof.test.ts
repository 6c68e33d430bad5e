import { expect, test } from "vitest";
import { prove } from "../../../../src/pi/read-cache/proof.ts";
import { piRead } from "../../../support/read-cache/pi-read.ts";

const FILE = "one\ntwo\nthree\nfour\nfive\n";

test.for([
  [{}, 2_000, { start: 1, end: 6, notice: "" }],
  [{ offset: 0 }, 2_000, { start: 1, end: 6, notice: "" }],
  [{ offset: -3 }, 2_000, { start: 1, end: 6, notice: "" }],
  [
    { offset: 2, limit: 3 },
    2_000,
    { start: 2, end: 4, notice: "\n\n[2 more lines in file. Use offset=5 to continue.]" },
  ],
  [{ offset: 4, limit: 30 }, 2_000, { start: 4, end: 6, notice: "" }],
  [{}, 4, { start: 1, end: 4, notice: "\n\n[Showing lines 1-4 of 6. Use offset=5 to continue.]" }],
  [{ offset: 2, limit: 4 }, 2, { start: 2, end: 3, notice: "\n\n[Showing lines 2-3 of 6. Use offset=4 to continue.]" }],
] as const)("what Pi shows of %j with at most %i lines at once is proven", ([asked, most, shown]) => {
  const { start, end } = shown;
  const body = FILE.split("\n")
    .slice(start - 1, end)
    .join("\n");
  expect(prove(piRead(FILE, asked, most), FILE)).toEqual({ ...shown, total: 6, body });
});

test("a cut by bytes is proven with Pi's own words", () => {
  const notice = "\n\n[Showing lines 1-2 of 6 (50.0KB limit). Use offset=3 to continue.]";
  const truncation = { truncated: true, truncatedBy: "bytes", outputLines: 2, firstLineExceedsLimit: false };
  expect(prove({ text: `one\ntwo${notice}`, truncation }, FILE)).toMatchObject({ start: 1, end: 2, notice });
});

test("line ends and the mark at the beginning of a file are part of its lines", () => {
  const file = "\ufeffone\r\ntwo\r\n";
  expect(prove(piRead(file, { limit: 1 }), file)).toMatchObject({ body: "\ufeffone\r", end: 1, total: 3 });
});

test.for([
  ["another reader's format", { text: "1:one\n2:two" }],
  ["a file that has changed since", { text: FILE.replace("two", "2") }],
  ["half a file", { text: "one\ntwo" }],
  ["words behind the lines", { text: `${FILE}\n\n[Note: this file is generated.]` }],
  ["a notice with other numbers", { text: "one\n\n[9 more lines in file. Use offset=2 to continue.]", limit: 1 }],
  ["a limit of no line", { text: "", limit: 0 }],
  ["a limit below zero", { text: "one\ntwo\nthree\nfour\nfive", limit: -1 }],
  ["half a line", { text: FILE, offset: 1.5 }],
  ["an offset in words", { text: FILE, offset: "1" }],
  ["lines behind the end", { text: "", offset: 9 }],
  [
    "a first line that is too large",
    { text: "[Line 1 is 58.6KB, exceeds 50.0KB limit. Use bash: …]", truncation: LARGE() },
  ],
  ["a cut of no line", { text: FILE, truncation: { truncated: true, outputLines: 0 } }],
  ["a cut behind the end", { text: FILE, truncation: { truncated: true, outputLines: 99 } }],
  ["a truncation of another kind", { text: FILE, truncation: "yes" }],
] as const)("%s is not proven", ([, read]) => {
  expect(prove(read, FILE)).toBeNull();
});

function LARGE() {
  return { truncated: true, firstLineExceedsLimit: true, outputLines: 1 };
}
