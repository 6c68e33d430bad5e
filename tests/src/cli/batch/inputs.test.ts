import { execFileSync } from "node:child_process";
import { closeSync, constants, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { csvRows } from "../../../../src/cli/batch/csv.ts";
import { inputsOf } from "../../../../src/cli/batch/inputs.ts";
import { type Input, jsonLines, type LineDecoding } from "../../../../src/cli/batch/jsonl.ts";
import { contextPath } from "../../../../src/cli/batch/read-jobs.ts";
import { tableDecoding } from "../../../../src/cli/batch/table-decoding.ts";
import { collected } from "../../../support/collected.ts";
import { folderWith, type Tree } from "../../../support/tree.ts";

const MB = 2 ** 20;
const NEVER = new AbortController().signal;

/** A stream of these bytes, in pieces of a few, so that lines and characters are cut anywhere. */
function pieces(text: string | Uint8Array, size = 3): Readable {
  const bytes = Buffer.from(text);
  const parts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
    bytes.subarray(n * size, (n + 1) * size),
  );
  return Readable.from(parts);
}

const valuesOf = async (inputs: AsyncIterable<Input> | Iterable<Input>) =>
  (await collected(inputs)).map(({ value }) => value);

const jsonl = (text: string | Uint8Array) => valuesOf(jsonLines(pieces(text), "jobs.jsonl"));
const csv = (text: string | Uint8Array) => valuesOf(csvRows(pieces(text), "jobs.csv"));

function inFolder(tree: Tree): void {
  const before = process.cwd();
  onTestFinished(() => process.chdir(before));
  process.chdir(folderWith(tree));
}

test("each line of .jsonl is a value, whatever its end, and blank lines are none", async () => {
  expect(await jsonl('{"a":1}\n\n"é😀"\r\n  \nnull\n[1,\u2028 2]'.replace("\u2028", ""))).toEqual([
    { a: 1 },
    "é😀",
    null,
    [1, 2],
  ]);
  expect(await jsonl('\ufeff{"a":"\u2028"}\n')).toEqual([{ a: "\u2028" }]);
  expect(await jsonl("")).toEqual([]);
});

test.each([
  ['{"a":1}\n{"a":\n', "line 2 of jobs.jsonl", "is not valid JSON: Unexpected end of JSON input"],
  ['1\n\n\nnope "\u0000secret"', "line 4 of jobs.jsonl", "is not valid JSON: Unexpected token 'o'"],
  [Buffer.from([0x22, 0xff, 0x22]), "line 1 of jobs.jsonl", "is not UTF-8 text"],
  [`1\n${"[".repeat(100_000)}${"]".repeat(100_000)}`, "line 2 of jobs.jsonl", "is nested too deeply"],
  [`${"[".repeat(100_000)}1.0${"]".repeat(100_000)}`, "line 1 of jobs.jsonl", "is nested too deeply"],
])("a bad line of .jsonl is named: %#", async (text, at, message) => {
  await expect(jsonl(text)).rejects.toMatchObject({ at, message });
});

test("a line has 1 MB at the most, and a longer one is refused before its end is read", async () => {
  const most = JSON.stringify("x".repeat(MB - 2));
  expect(await valuesOf(jsonLines(pieces(most, 2 ** 16), "a"))).toHaveLength(1);
  let read = 0;
  async function* endless() {
    for (;;) {
      read += 1;
      yield Buffer.alloc(2 ** 16, "x");
    }
  }
  await expect(valuesOf(jsonLines(endless(), "a"))).rejects.toMatchObject({
    at: "line 1 of a",
    message: "is longer than 1 MB",
  });
  expect(read).toBe(17);
});

test("rows of .csv are objects of strings by the header", async () => {
  expect(await csv('id,text\n1,"a, ""b""\r\nc"\r\n\n2,\n')).toEqual([
    { id: "1", text: 'a, "b"\r\nc' },
    { id: "2", text: "" },
  ]);
  const odd = await csv("\ufeff__proto__,constructor\nx,y");
  expect(odd.map((row) => Object.entries(row ?? {}))).toEqual([
    [
      ["__proto__", "x"],
      ["constructor", "y"],
    ],
  ]);
});

test.each([
  ["a,b\n1,2\n3\n", "line 3 of jobs.csv", "has another number of fields than the header"],
  ['a\n"x', "line 2 of jobs.csv", "has a quote that is not closed"],
  ['a\n"x"y\n', "line 2 of jobs.csv", "goes on after a closing quote; a quote within a field is doubled"],
  ["a,a\n1,2\n", "line 1 of jobs.csv", 'names two columns "a"'],
  ["a,\n1,2\n", "line 1 of jobs.csv", "has no name for column 2"],
  ["id;text\n1;a, b\n", "line 1 of jobs.csv", "has semicolons between its columns, and .csv has commas"],
  ["id\ttext\n1\ta\n", "line 1 of jobs.csv", "has tabs between its columns, and .csv has commas"],
  [Buffer.from("a\nok\nna\xefve\n", "latin1"), "line 3 of jobs.csv", "is not UTF-8 text"],
  [`a\n"${"x\n".repeat(MB)}"`, expect.stringMatching(/^line \d+ of jobs.csv$/), "belongs to a row of more than 1 MB"],
])("a bad row of .csv is named: %#", async (text, at, message) => {
  await expect(valuesOf(csvRows(pieces(text, 2 ** 16), "jobs.csv"))).rejects.toMatchObject({ at, message });
});

test("a table is decoded by its mark, else by the encoding that is named, and bad bytes are refused or told", async () => {
  const read = async (bytes: Uint8Array, how: { encoding?: string; lossy?: boolean }, rows = csvRows) => {
    const decoding = tableDecoding("t", { lossy: false, ...how });
    return [await valuesOf(rows(pieces(bytes), "t", decoding)), decoding.notes()];
  };
  const wide = Buffer.from("\ufefftext\r\ngr\u00fcn \u4f60\r\n", "utf16le");
  for (const how of [{}, { encoding: "gbk" }]) {
    expect(await read(wide, how)).toEqual([[{ text: "gr\u00fcn \u4f60" }], ["t is read as UTF-16LE"]]);
  }
  const german = Buffer.from("text\ngr\xfcn\nok\n\xfcber\n", "latin1");
  expect(await read(german, { encoding: "latin1" })).toEqual([
    [{ text: "gr\u00fcn" }, { text: "ok" }, { text: "\u00fcber" }],
    ["t is read as windows-1252"],
  ]);
  expect(await read(german, { lossy: true })).toEqual([
    [{ text: "gr\ufffdn" }, { text: "ok" }, { text: "\ufffdber" }],
    ["t: 2 lines have bytes that are not UTF-8, read as U+FFFD: 2, 4"],
  ]);
  const cure = "Name its encoding, such as --encoding latin1, or read such bytes as U+FFFD with --lossy.";
  await expect(read(german, {})).rejects.toMatchObject({ at: "line 2 of t", message: "is not UTF-8 text", cure });
  await expect(read(Buffer.from("text\nA\xff", "latin1"), { encoding: "gbk" })).rejects.toMatchObject({
    at: "line 2 of t",
    message: "is not gbk text",
  });
  const lines = (chunks: AsyncIterable<Uint8Array>, name: string, decoding?: LineDecoding) =>
    jsonLines(chunks, name, MB, decoding);
  expect(await read(Buffer.from('"\xe9"\n', "latin1"), { encoding: "latin1" }, lines)).toMatchObject([["\u00e9"], {}]);
});

test("a folder makes a job of each file, and says what it leaves out", async () => {
  inFolder({ "in/b.txt": "b", "in/a/c d.txt": "c", "in/x.log": "x", "in/.gitignore": "*.log\n" });
  const found = await inputsOf("in", NEVER);
  expect(found).toMatchObject({ isFiles: true, leftOut: ["1 file or folder that .gitignore names"] });
  expect(await valuesOf(found.all)).toEqual([
    { path: "in/.gitignore" },
    { path: "in/a/c d.txt" },
    { path: "in/b.txt" },
  ]);
});

test("a pattern makes a job of each file that it matches, in the order of their paths", async () => {
  inFolder({ "in/b.txt": "b", "in/a.txt": "a", "in/d.txt/": "", "in/e.md": "e", "10.txt": "", "9.txt": "" });
  expect(await valuesOf((await inputsOf("**/*.txt", NEVER)).all)).toEqual([
    { path: "10.txt" },
    { path: "9.txt" },
    { path: "in/a.txt" },
    { path: "in/b.txt" },
  ]);
});

test.each([
  ["*.xyz", "no file matches *.xyz"],
  ["missing.jsonl", "--jobs missing.jsonl: no such file, or no file in it"],
  ["empty", "--jobs empty: no such file, or no file in it"],
  [
    "one.txt",
    "--jobs reads .jsonl (a JSON value on each line) and .csv; a pattern or a folder makes a job of each file, and one.txt is one file",
  ],
])("--jobs %s is refused", async (jobs, message) => {
  inFolder({ "one.txt": "1", "empty/": "" });
  await expect(inputsOf(jobs, NEVER)).rejects.toMatchObject({ message, tryThis: "belay help batch" });
});

test("an address is not read, and the line that saves it is given", async () => {
  await expect(inputsOf("https://example.org/in/x y.csv?a=1", NEVER)).rejects.toMatchObject({
    message:
      "--jobs reads files, and https://example.org/in/x y.csv?a=1 is an address; save it, and type --jobs x%20y.csv",
    tryThis: "curl -fL 'https://example.org/in/x y.csv?a=1' -o x%20y.csv",
  });
  const row = { at: "line 2 of in.csv", value: { url: "https://example.org/x.pdf" } };
  expect(() => contextPath(row, "url", [])).toThrow('the context "https://example.org/x.pdf", which is an address');
});

test("a file is read by its extension, whatever its case", async () => {
  inFolder({ "A.JSONL": "1\n", "b.Csv": "x\n2\n", "c.ndjson": "3" });
  const all = await Promise.all(
    ["A.JSONL", "b.Csv", join(process.cwd(), "c.ndjson")].map(async (path) =>
      valuesOf((await inputsOf(path, NEVER)).all),
    ),
  );
  expect(all).toEqual([[1], [{ x: "2" }], [3]]);
});

test("a FIFO is refused before anybody waits for it, and what a shell hands over is read until a signal ends the wait", async () => {
  inFolder({});
  for (const path of ["p.jsonl", "p.csv", "p"]) {
    execFileSync("mkfifo", [path]);
    await expect(inputsOf(path, NEVER)).rejects.toMatchObject({
      code: "invalid_argument",
      message: `${path} is a FIFO, not a regular file`,
    });
  }
  const pipe = openSync("p", constants.O_RDWR | constants.O_NONBLOCK);
  onTestFinished(() => closeSync(pipe));
  const stop = new AbortController();
  const { all } = await inputsOf(`/dev/fd/${pipe}`, stop.signal);
  writeSync(pipe, "1\n");
  const reading = (async () => {
    for await (const { value } of all) {
      expect(value).toBe(1);
      stop.abort();
    }
  })();
  await expect(reading).rejects.toMatchObject({ name: "AbortError" });
});
