import { execFileSync } from "node:child_process";
import { appendFileSync, closeSync, constants, openSync, truncateSync, writeSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import type { Json } from "../../../../src/index.ts";
import { arrayItems } from "../../../../src/runs/inputs/array-items.ts";
import { inputsOf } from "../../../../src/runs/inputs/inputs.ts";
import {
  type Input,
  jsonItems,
  jsonLines,
  type LineDecoding,
  tableDecoding,
} from "../../../../src/runs/inputs/lines.ts";
import { contextPath } from "../../../../src/runs/inputs/read-jobs.ts";
import type { TableShape } from "../../../../src/runs/inputs/tables.ts";
import { csvRows } from "../../../../src/runs/inputs/tables.ts";
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

const TWICE = "has an object with two properties of one name";

test.each([
  ['{"a":1}\n{"a":\n', "line 2 of jobs.jsonl", "is not valid JSON: Unexpected end of JSON input"],
  ['1\n\n\nnope "\u0000secret"', "line 4 of jobs.jsonl", "is not valid JSON: Unexpected token 'o'"],
  [Buffer.from([0x22, 0xff, 0x22]), "line 1 of jobs.jsonl", "is not UTF-8 text"],
  [`1\n${"[".repeat(100_000)}${"]".repeat(100_000)}`, "line 2 of jobs.jsonl", "is nested too deeply"],
  [`${"[".repeat(100_000)}1.0${"]".repeat(100_000)}`, "line 1 of jobs.jsonl", "is nested too deeply"],
  ['{"a":"b\\":1"}\n[{"a":1,"b":{"a":2}},{"a":1,"\\u0061":2}]', "line 2 of jobs.jsonl", TWICE],
  [Buffer.from('{"a":1}\n', "utf16le"), "line 1 of jobs.jsonl", "seems to be UTF-16LE without a byte order mark"],
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

test("an item of any length is refused by its place", async () => {
  const items = jsonItems(pieces(`[1,"${"a".repeat(4 * MB)}"]`, MB), "jobs.json");
  await expect(valuesOf(items)).rejects.toMatchObject({ at: "item 2 of jobs.json", message: "is longer than 1 MB" });
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
  ["id;text\n1;a, b\n", "line 1 of jobs.csv", "has semicolons between its columns, and not commas"],
  ["id\ttext\n1\ta\n", "line 1 of jobs.csv", "has tabs between its columns, and not commas"],
  ["\nNo;Price, net;Place\n1;3,50;Ulm\n", "line 2 of jobs.csv", "has semicolons between its columns, and not commas"],
  ['id,"a\rb",c\rd\r1,2,3\r', "line 1 of jobs.csv", "ends its lines with carriage returns alone"],
  [Buffer.from("a\r\n1\r\n", "utf16le"), "line 1 of jobs.csv", "seems to be UTF-16LE without a byte order mark"],
  [Buffer.from("a\n1\n", "utf16le").swap16(), "line 1 of jobs.csv", "seems to be UTF-16BE without a byte order mark"],
  [Buffer.from("a\0\0\0\n\0\0\0"), "line 1 of jobs.csv", "seems to be UTF-32 without a byte order mark"],
  [Buffer.from("a\nok\nna\xefve\n", "latin1"), "line 3 of jobs.csv", "is not UTF-8 text"],
  [
    `a\n"${"x\n".repeat(0.6 * MB)}"`,
    expect.stringMatching(/^line \d+ of jobs.csv$/),
    "belongs to a row of more than 1 MB",
  ],
])("a bad row of .csv is named: %#", async (text, at, message) => {
  await expect(valuesOf(csvRows(pieces(text, 2 ** 16), "jobs.csv"))).rejects.toMatchObject({ at, message });
});

test.each<[text: string, shape: TableShape, rows: Json[]]>([
  ["id;text\n1;a, b\n", { delimiter: ";" }, [{ id: "1", text: "a, b" }]],
  ["id|text\n1|a\n", { delimiter: "|" }, [{ id: "1", text: "a" }]],
  ["\ufeffsep=;\r\nid;a, b\r\n1;3,50\r\n", {}, [{ id: "1", "a, b": "3,50" }]],
  ["sep=,\nid;text\n1;a\n", { delimiter: ";" }, [{ id: "1", text: "a" }]],
  ["id,a;b\n1,2\n", { delimiter: "," }, [{ id: "1", "a;b": "2" }]],
  ["a,a,\n1,2,3\n", { columns: ["x", "y", "z"] }, [{ x: "1", y: "2", z: "3" }]],
  [
    "7,one\n8,two\n",
    { noHeader: true },
    [
      { column_1: "7", column_2: "one" },
      { column_1: "8", column_2: "two" },
    ],
  ],
  ["7,one\n", { noHeader: true, columns: ["id", "text"] }, [{ id: "7", text: "one" }]],
])("a table is read as flags say: %#", async (text, shape, rows) => {
  expect(await valuesOf(csvRows(pieces(text), "jobs.csv", undefined, shape))).toEqual(rows);
});

test.each<[text: string, message: string, cure: string | null, shape?: TableShape]>([
  ['"id";"text"\n"1";"a; b"\n', "has semicolons between its columns, and not commas", "Say so: --delimiter ';'."],
  ['"i, d"|"text"\n"1"|"a"\n', "has bars between its columns, and not commas", "Say so: --delimiter '|'."],
  [
    "a,b;c\n1,2;3\n",
    "has semicolons between its columns, and not commas",
    "Say so: --delimiter ';', or --delimiter , if that separates them.",
  ],
  [
    "a,b,a\n1,2,3\n",
    'names two columns "a"',
    "Name the columns: --columns a,b,column_3; add --no-header if the first row is not one of names.",
  ],
  [
    "a,\n1,2\n",
    "has no name for column 2",
    "Name the columns: --columns a,column_2; add --no-header if the first row is not one of names.",
  ],
  [
    "7,hello\n8,x\n",
    "names its first column 7, so that it may be no header",
    "Name the columns: --columns column_1,hello; add --no-header if the first row is not one of names.",
  ],
  ["a,b\n1,2\n", "has 2 columns, and --columns names 3", null, { columns: ["a", "b", "c"] }],
])("a table that cannot be read so says how it can: %#", async (text, message, cure, shape) => {
  const rows = valuesOf(csvRows(pieces(text), "jobs.csv", undefined, shape));
  await expect(rows).rejects.toMatchObject({ at: "line 1 of jobs.csv", message, cure });
});

test("jobs come of tables with tabs, of packed ones, and of an array", async () => {
  const big = '{"id":12345678901234567890}';
  inFolder({
    ...{
      "t.tsv": 'a\tb\n1\t5" disk\n',
      "t.csv.gz": gzipSync("id,b\n1,x\n"),
      "l.jsonl.zst": zstdCompressSync("1\n2\n"),
    },
    ...{
      "a.json": `[\n${big},\n2]`,
      "lines.json": '{"a":1}\n{"a":2}\n',
      "one.json": '{"a":[1]}\n\n',
      "u.csv": Buffer.from("\ufeffa\n\u4f60\n", "utf16le"),
    },
  });
  const read = async (jobs: string) =>
    (await collected((await inputsOf(jobs, NEVER)).all)).map(({ at, value }) => [at, JSON.stringify(value)]);
  expect(await read("t.tsv")).toEqual([["line 2 of t.tsv", '{"a":"1","b":"5\\" disk"}']]);
  expect(await read("t.csv.gz")).toEqual([["line 2 of t.csv.gz", '{"id":"1","b":"x"}']]);
  expect(await read("l.jsonl.zst")).toMatchObject([{ 1: "1" }, { 1: "2" }]);
  expect(await read("a.json")).toEqual([
    ["item 1 of a.json", big],
    ["item 2 of a.json", "2"],
  ]);
  expect(await read("one.json")).toEqual([["line 1 of one.json", '{"a":[1]}']]);
  expect(await read("lines.json")).toEqual([
    ["line 1 of lines.json", '{"a":1}'],
    ["line 2 of lines.json", '{"a":2}'],
  ]);
});

test("a packed table that is not whole is refused, and none is unpacked without end", async () => {
  const rows = Array.from({ length: 50_000 }, (_, n) => `${n},${(n * 7919) % 10_007}\n`).join("");
  const packed = gzipSync(`id,b\n${rows}`);
  inFolder({
    ...{
      "cut.csv.gz": packed.subarray(0, packed.length / 2),
      "bad.csv.gz": "no gzip at all",
      "o.json": '{"d":[1],\n"x":2}',
      "page.json": '{"tags":["x"],"data":[{"a":1},{"a":2}]}',
    },
    "bomb.csv.gz": gzipSync(Buffer.alloc(8 * MB)),
    "t.csv.bz2": Buffer.from("425a683931415926535900", "hex"),
  });
  const failure = async (jobs: string) => valuesOf((await inputsOf(jobs, NEVER)).all).catch((error: unknown) => error);
  expect(await failure("cut.csv.gz")).toMatchObject({
    at: "cut.csv.gz",
    message: "ends too early, so that rows are missing",
  });
  expect(await failure("bad.csv.gz")).toMatchObject({ message: "is damaged: it cannot be unpacked" });
  expect(await failure("bomb.csv.gz")).toMatchObject({ message: "is longer than 1 MB" });
  expect(await failure("page.json")).toMatchObject({ message: 'is an object, whose array is in "data"' });
  expect(await failure("o.json")).toMatchObject({ cure: `jq -c '.["d"][]' o.json > o.jsonl makes a file for --jobs.` });
  await expect(inputsOf("t.csv.bz2", NEVER)).rejects.toMatchObject({ tryThis: "bzip2 -dc t.csv.bz2 > t.csv" });
});

test("empty lines between the values of one column are passed over and told", async () => {
  const read = async (text: string) => {
    const decoding = tableDecoding("t.csv", { lossy: false });
    return [await valuesOf(csvRows(pieces(text), "t.csv", decoding)), decoding.notes()];
  };
  const rows = [{ a: "1" }, { a: "2" }, { a: "3" }];
  const note = (lines: string) => `t.csv: ${lines} passed over; an empty value is ""`;
  expect(await read("a\r\n1\r\n\r\n2\r\n3\r\n")).toEqual([rows, [note("1 empty line is")]]);
  expect(await read("\n\na\n\n1\n\n2\n3\n\n\n")).toEqual([rows, [note("2 empty lines are")]]);
  expect(await read('a\n1\n""\n2\n\n')).toEqual([[{ a: "1" }, { a: "" }, { a: "2" }], []]);
  expect(await read("a,b\n1,2\n\n3,4\n")).toEqual([
    [
      { a: "1", b: "2" },
      { a: "3", b: "4" },
    ],
    [],
  ]);
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
  expect(found).toMatchObject({ isFiles: true, skipped: [], ignored: 1 });
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
    "--jobs reads .jsonl (a JSON value on each line), .json (an array), .csv and .tsv, also with .gz, .xlsx, .ods, .parquet and databases of SQLite; a pattern or a folder makes a job of each file, and one.txt is one file",
  ],
])("--jobs %s is refused", async (jobs, message) => {
  inFolder({ "one.txt": "1", "empty/": "" });
  await expect(inputsOf(jobs, NEVER)).rejects.toMatchObject({ message, at: null, tryThis: null });
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

test("a table of several Zstandard frames has the rows of all", async () => {
  const skipped = Buffer.from("502a4d180400000001020304", "hex");
  const packed = Buffer.concat([skipped, zstdCompressSync("1\n2\n"), zstdCompressSync("3\n")]);
  const log = join(folderWith({ "l.jsonl.zst": packed }), "l.jsonl.zst");
  const rows: unknown[] = [];
  for await (const { value } of (await inputsOf(log, NEVER)).all) rows.push(value);
  expect(rows).toEqual([1, 2, 3]);
});

test("the items of an array are read one at a time, wherever its pieces are cut", async () => {
  const items = [{ text: 'a ] , [ " \\ é' }, [1, [2, "]"]], "x,y", 7, [], {}];
  for (const text of [JSON.stringify(items), `\ufeff${JSON.stringify(items, null, 2)}\n`]) {
    expect(await valuesOf(arrayItems(pieces(text), "a.json", MB))).toEqual(items);
  }
  expect(await valuesOf(arrayItems(pieces(" [ ] "), "a.json", MB))).toEqual([]);
  expect(await valuesOf(arrayItems(pieces('{"a":1}\n{"a":2}\n'), "a.json", MB))).toEqual([{ a: 1 }, { a: 2 }]);
  const refused = async (text: string, words: string, most = MB) =>
    expect(valuesOf(arrayItems(pieces(text), "a.json", most))).rejects.toThrow(words);
  await refused('[1, {"a": "b', "ends within its array");
  await refused("[1] [2]", "has text behind its array");
  await refused("[1,,2]", "is not valid JSON");
  await refused("[{]}]", "is not valid JSON");
  await refused('["abcdef"]', "has an item of more than", 4);
});

test.each<[string, (path: string) => void]>([
  ["cut", (path) => truncateSync(path, 3 * 100_000)],
  ["written to", (path) => appendFileSync(path, "9,")],
])("a table that is %s while it is read is refused, and one that stays is not", async (_how, change) => {
  const table = join(folderWith({ "t.csv": `a,b\n${`1,${"2".repeat(18)}\n`.repeat(20_000)}` }), "t.csv");
  const read = async (meanwhile: () => void) => {
    let rows = 0;
    for await (const _row of (await inputsOf(table, NEVER)).all) if (rows++ === 0) meanwhile();
    return rows;
  };
  expect(await read(() => {})).toBe(20_000);
  await expect(read(() => change(table))).rejects.toThrow(/another number of fields|was changed while it was read/);
});
