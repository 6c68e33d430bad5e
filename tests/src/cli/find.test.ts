import { closeSync, existsSync, mkdirSync, openSync, readdirSync, writeSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { hitsIn, markedLine, placeLine, placesIn } from "../../../src/cli/render/value.ts";
import { permissionLine } from "../../../src/cli/running/find.ts";
import { commandHere } from "../../support/command-here.ts";
import { lowerBorder } from "../../support/low-border.ts";
import { folderWith } from "../../support/tree.ts";
import { belayHere } from "./in-process.ts";

const MB = 2 ** 20;
/** Files of more than this are read in blocks. */
const FILLER = Buffer.alloc(16 * MB, "x");
const LONG = `${"x".repeat(9000)} ERROR\tlast`;
const LOGS = {
  ...{ "app/a.log": "ok\r\nERROR one ERROR\r\nerror two\r\n", "app/b.log": `${LONG}\nok` },
  ...{ "app/logo.png": new Uint8Array([137, 80, 0, 0]), "ignored.log": "ERROR\n", ".gitignore": "ignored.log\n" },
  "ERROR.txt": "the name alone has it\n",
};

test("find prints each line that matches once and whole, by its place in this folder, and keeps nothing", async () => {
  const cwd = folderWith(LOGS);
  const home = join(folderWith(), "home");
  const all = await belayHere(["find", "ERROR"], { cwd, home });
  const stdout = `app/a.log:2:1: ERROR one ERROR\napp/b.log:1:9002: ${LONG}\n`;
  expect(all).toEqual({ code: 0, stdout, stderr: "skipped 1 file: app/logo.png (binary)\n" });
  expect(existsSync(home)).toBe(false);
  const some = await belayHere(["find", "-qi", "^error", "app", "app/*.log", join(cwd, "app/a.log")], { cwd });
  expect(some).toEqual({ code: 0, stdout: "app/a.log:2:1: ERROR one ERROR\napp/a.log:3:1: error two\n", stderr: "" });
  const beside = join(cwd, "other");
  mkdirSync(beside);
  for (const folder of ["../app", join(cwd, "app")]) {
    for (const path of ["", "/a*.log", "/a.log"].map((name) => `${folder}${name}`)) {
      const { code, stdout } = await belayHere(["find", "two", path], { cwd: beside });
      expect([code, stdout]).toEqual([0, `${folder}/a.log:3:7: error two\n`]);
    }
  }
  const json = await belayHere(["find", "two", "app/a.log", "--json"], { cwd });
  expect(JSON.parse(json.stdout)).toEqual({ path: "app/a.log", line: 3, column: 7, text: "error two" });
});

test("find prints all lines of stdin, however many there are", async () => {
  const input = Array.from({ length: 10_500 }, (_, n) => `line ${n}\n`).join("");
  const { code, stdout } = await belayHere(["find", "line", "-"], { input });
  expect(code).toBe(0);
  expect(stdout.split("\n")).toHaveLength(10_501);
  expect(stdout).toMatch(/\nstdin:10500:1: line 10499\n$/);
});

test("find waits for a slow reader, and holds no more than it has printed at once", async () => {
  const cwd = folderWith({ "a.log": `needle ${"x".repeat(100)}\n`.repeat(5000) });
  let most = 0;
  const onWritten = () => (most = Math.max(most, process.stdout.writableLength));
  const found = await commandHere(["find", "needle"], { cwd, home: join(cwd, "home"), takenMs: 5, onWritten });
  expect(found.stdout.split("\n")).toHaveLength(5001);
  expect(most).toBeLessThan(100_000);
});

test("results of a run wait for a slow reader too", async () => {
  const rows = Array.from({ length: 12 }, (_, n) => `${n}\n`).join("");
  const cwd = folderWith({ "rows.jsonl": rows, "same.js": 'String(job).padEnd(30_000, "x")' });
  const home = join(cwd, "home");
  expect(await belayHere(["batch", "same.js", "--jobs", "rows.jsonl", "--name", "slow"], { cwd, home })).toMatchObject({
    code: 0,
  });
  for (const args of [
    ["jobs", "out", "slow", "-o", "-"],
    ["jobs", "out", "slow", "-o", "-", "--format", "csv"],
  ]) {
    let most = 0;
    const onWritten = () => (most = Math.max(most, process.stdout.writableLength));
    const { code, stdout } = await commandHere(args, { cwd, home, takenMs: 1, onWritten });
    expect(code, args.join(" ")).toBe(0);
    expect(most, args.join(" ")).toBeLessThan(stdout.length / 2);
  }
});

test.for([
  [["find", "nowhere"], 1, ""],
  [["search", "nowhere"], 1, ""],
  [["find", "("], 2, "find: unclosed group"],
  [["find", "x", "nowhere"], 2, "nowhere does not exist (path_not_found)"],
  [["search", "x", "nowhere"], 2, "nowhere does not exist (path_not_found)"],
  [
    ["find", "x", "https://e.org/a.pdf"],
    2,
    "Save it: `curl -fL https://e.org/a.pdf -o a.pdf`, and name a.pdf instead.",
  ],
  [["find"], 2, "no pattern given"],
  [["search", " "], 2, "no search word given"],
] as const)("belay %s: exit code %i as of grep", async ([args, code, said]) => {
  const cwd = folderWith({ "a.txt": "text\n" });
  const run = await belayHere([...args], { cwd });
  expect(run).toMatchObject({ code, stdout: "" });
  expect(run.stderr).toContain(said);
});

const POEM = "one\ntwo Two\nthree\nfour.two\nfive\nsix\ntwofold\n";

test.for([
  [["two"], "a.txt:2:1: two Two\na.txt:4:6: four.two\na.txt:7:1: twofold\n"],
  [["-F", "r.t"], "a.txt:4:4: four.two\n"],
  [["-w", "two"], "a.txt:2:1: two Two\na.txt:4:6: four.two\n"],
  [["-wi", "TWO", "-o"], "a.txt:2:1: two\na.txt:2:5: Two\na.txt:4:6: two\n"],
  [["two", "-l"], "a.txt\n"],
  [["two", "--count"], "a.txt:3\n"],
  [["four", "-A", "1", "-B1"], "a.txt-3- three\na.txt:4:1: four.two\na.txt-5- five\n"],
  [
    ["^t", "-C", "1"],
    "a.txt-1- one\na.txt:2:1: two Two\na.txt:3:1: three\na.txt-4- four.two\n--\na.txt-6- six\na.txt:7:1: twofold\n",
  ],
  [
    ["four", "-C1", "--json"],
    '{"path":"a.txt","line":3,"text":"three"}\n{"path":"a.txt","line":4,"column":1,"text":"four.two"}\n{"path":"a.txt","line":5,"text":"five"}\n',
  ],
  [["two", "-l", "--json"], '{"path":"a.txt"}\n'],
  [["two", "--count", "--json"], '{"path":"a.txt","count":3}\n'],
  [["fold", "--max-columns", "4"], "a.txt:7:4: twof…\n"],
] as const)("belay find %j, as fingers know it from grep", async ([args, stdout]) => {
  const cwd = folderWith({ "a.txt": POEM, "b.txt": "nothing\n" });
  expect(await belayHere(["find", ...args], { cwd })).toEqual({ code: 0, stdout, stderr: "" });
});

test("find reads a file in blocks, and finds what stands in and over them", async () => {
  const line = `${"x".repeat(99)}\n`;
  const long = `first needle\n${line.repeat(200_000)}middle needle\n${line.repeat(10)}needle at\nthe end`;
  const cwd = folderWith({ "long.log": long });
  const found = await belayHere(["find", "needle", "-B1", "long.log"], { cwd });
  const x = "x".repeat(99);
  const middle = `long.log-200001- ${x}\nlong.log:200002:8: middle needle\n--\nlong.log-200012- ${x}\nlong.log:200013:1: needle at\n`;
  expect(found).toEqual({ code: 0, stdout: `long.log:1:7: first needle\n--\n${middle}`, stderr: "" });
  const over = await belayHere(["find", "at\\s+the", "long.log"], { cwd });
  expect(over).toEqual({ code: 0, stdout: "long.log:200013:8: needle at\n", stderr: "" });
});

test("the user's own files that may not be read come with the line that permits it", () => {
  const forbidden = ["a b.txt", "shut", "theirs.txt"].map((path) => ({ path, reason: "cannot be read (EACCES)" }));
  const skipped = [...forbidden, { path: "c.bin", reason: "binary" }];
  const isOwn = (path: string) => path !== "theirs.txt";
  expect(permissionLine(skipped, isOwn)).toEqual({ text: "chmod u+rX 'a b.txt' shut", count: 2 });
  expect(permissionLine(skipped, () => false)).toBeNull();
});

test("find ends with 2 for a file that should have text and could not be read, and names it", async () => {
  const cwd = folderWith({
    "a.txt": "one\n",
    "b.pdf": "%PDF-1.4\nbroken",
    "c.png": new Uint8Array([137, 80, 0]),
    ".env": "one",
  });
  const found = await belayHere(["find", "one"], { cwd });
  expect(found).toMatchObject({ code: 2, stdout: "a.txt:1:1: one\n" });
  expect(found.stderr).toMatch(/^1 file could not be read: b\.pdf \(is damaged/);
  expect(found.stderr).toContain("skipped 2 files: ");
  const searched = await belayHere(["search", "one"], { cwd });
  expect(searched).toMatchObject({ code: 2, stdout: "a.txt:1: one\n" });
  expect(searched.stderr).toContain("1 file could not be read: b.pdf (");
  const readable = await belayHere(["find", "one", "a.txt", "c.png"], { cwd });
  expect(readable).toMatchObject({ code: 0, stdout: "a.txt:1:1: one\n", stderr: "skipped 1 file: c.png (binary)\n" });
});

test("find reads texts of other encodings, and counts bytes that are none", async () => {
  const bad = Buffer.concat([
    Buffer.from("all is well\n".repeat(200_000)),
    FILLER,
    Buffer.from("\nneedle "),
    Buffer.from([0xff, 0x0a]),
  ]);
  const wide = Buffer.from("\ufeffdie Nadel\n", "utf16le");
  const cwd = folderWith({ "bad.log": bad, "wide.txt": wide });
  const found = await belayHere(["find", "needle|Nadel"], { cwd });
  expect(found).toMatchObject({ code: 0, stdout: "bad.log:200002:1: needle \ufffd\nwide.txt:1:5: die Nadel\n" });
  expect(found.stderr).toContain(
    `bad.log: 1 byte that is not UTF-8, read as U+FFFD, the first at byte ${2_400_008 + FILLER.length}\n`,
  );
  expect(found.stderr).toContain("UTF-16LE");
});

test("-c names a path too, and relative paths are printed as they were typed", async () => {
  const cwd = folderWith({ "a/a.txt": "one\n", "b.txt": "one\n", "c/c.txt": "" });
  const found = await belayHere(["find", "-c", "a", "one", "b.txt"], { cwd });
  expect(found).toEqual({ code: 0, stdout: "b.txt:1:1: one\na/a.txt:1:1: one\n", stderr: "" });
  const searched = await belayHere(["search", "one", "-c", "../a/a.txt"], { cwd: join(cwd, "c") });
  expect(searched).toMatchObject({ code: 0, stdout: "../a/a.txt:1: one\n" });
});

test("search prints the best places first, and keeps an index alone", async () => {
  const cwd = folderWith({
    "a.md": "# Other\nNothing of it.\n",
    "docs/b.md": "# Cancelling\n\nA cell is cancelled with Esc.\n",
    "docs/c.md": `A cell.\n${"filler\n".repeat(300)}`,
  });
  const home = join(folderWith(), "home");
  const found = await belayHere(["search", "cancelled cells"], { cwd, home });
  expect(found).toMatchObject({ code: 0, stderr: "" });
  expect(found.stdout).toBe("docs/b.md:3: A cell is cancelled with Esc.\ndocs/c.md:1: A cell.\n");
  expect(readdirSync(home)).toEqual(["index"]);
  const best = await belayHere(["search", "cancelled cells", "docs", "-n", "1", "--json"], { cwd, home });
  const text = "# Cancelling\n\nA cell is cancelled with Esc.\n";
  expect(JSON.parse(best.stdout)).toEqual({ path: "docs/b.md", line: 3, score: expect.any(Number), text });
});

test("a search whose time is over says that the same line goes on with the index", async () => {
  const text = Array.from({ length: 300_000 }, (_, n) => `word${n} and ${n * 7}\n`).join("");
  const cwd = folderWith({ "long.txt": text, ".git/HEAD": "", "belay.config.json": '{ "max_execution_ms": 1 }' });
  const over = await belayHere(["search", "word7", "long.txt"], { cwd });
  expect(over).toMatchObject({ code: 2, stderr: expect.stringContaining("suggestion: Type the same line again: ") });
});

test("hits of a cell's search are places, which a terminal shows as lines", () => {
  const hit = { doc_id: "a.md", line: 5, score: 1.5, start: 10, end: 40, at: 15, text: "one\n\n two \u001b[2J\nthree" };
  const paint = { paint: (text: string) => text };
  const page = { ...hit, doc_id: "b.pdf", place: "p.12" };
  const lines = (placesIn([hit, page]) ?? []).map((place) => placeLine(place, paint));
  expect(lines).toEqual(["a.md:5: two \\x1b[2J", "b.pdf p.12: two \\x1b[2J"]);
  const row = { id: "c.xlsx", start: 1, end: 2, line: 9, column: 3, text: "a b", place: "Sales\u001b!7" };
  expect(placesIn([row])?.map((place) => placeLine(place, paint))).toEqual(["c.xlsx Sales\\x1b!7: a b"]);
  expect(placesIn([{ doc_id: "a.md", line: 3 }])).toBeNull();
  expect(hitsIn({ hits: [] })).toEqual([]);
});

test("a terminal shows the words that were searched for, and cuts a long line around the first of them", () => {
  const paint = { paint: (text: string, style?: unknown) => (style ? `<${text}>` : text) };
  expect(markedLine("one two\u0007 one", [[4, 7]], 200, paint)).toBe("one <two>\\x07 one");
  const long = `${"a".repeat(300)}word${"b".repeat(300)}`;
  expect(markedLine(long, [[300, 304]], 100, paint)).toBe(`…${"a".repeat(60)}<word>${"b".repeat(36)}…`);
  expect(markedLine(long, [], 100, paint)).toBe(`${"a".repeat(100)}…`);
});

test("find says where the bytes are that are no text, and prints what is before them", async () => {
  const head = "all is well needle\n".repeat(100_000);
  const bad = Buffer.concat([
    Buffer.from(head),
    Buffer.alloc(3_000_000, 0xff),
    Buffer.from("\nneedle\n".repeat(200_000)),
    FILLER,
  ]);
  const cwd = folderWith({ "bad.log": bad });
  const found = await belayHere(["find", "needle", "bad.log", "--count"], { cwd });
  expect(found).toMatchObject({ code: 2, stdout: "bad.log:100000\n" });
  const told = /bad\.log \(has [\d,]+ bytes that are not UTF-8, the first at byte 1900000; --lossy/;
  expect(found.stderr).toMatch(told);
  const lossy = await belayHere(["find", "needle", "bad.log", "--lossy", "--count"], { cwd });
  expect(lossy).toMatchObject({ code: 0, stdout: "bad.log:300000\n" });
});

test("a file that is searched where it lies has the same lines and columns as a smaller one", async () => {
  onTestFinished(lowerBorder(1000, 10 * MB));
  const cwd = folderWith({ "large.log": "" });
  const file = openSync(join(cwd, "large.log"), "w");
  writeSync(file, `\ufefffirst needle\r\n${"x".repeat(9000)}\n`, 0);
  // The file has holes, which are lines of NUL.
  for (let at = 1; at <= 10; at++) writeSync(file, `\nné needle ${10 * at} needle\nnext\n`, at * MB);
  writeSync(file, `\nlast needle ${"x".repeat(50)}`, 17 * MB);
  closeSync(file);
  const found = await belayHere(["find", "-A1", "needle", "large.log"], { cwd });
  const shown = found.stdout.split("\n").filter((line) => !line.includes("\0"));
  const middle = Array.from({ length: 10 }, (_, n) => {
    const line = 4 + 3 * n;
    return ["--", `large.log:${line}:4: né needle ${10 * (n + 1)} needle`, `large.log-${line + 1}- next`];
  });
  const last = ["--", `large.log:34:6: last needle ${"x".repeat(50)}`, ""];
  expect(found).toMatchObject({ code: 0, stderr: "" });
  expect(shown).toEqual(["large.log:1:7: first needle", `large.log-2- ${"x".repeat(9000)}`, ...middle.flat(), ...last]);
  const counted = await belayHere(["find", "--count", "needle|next", "large.log"], { cwd });
  expect(counted.stdout).toBe("large.log:22\n");
  const over = await belayHere(["find", "\\d needle\\nnext\\n", "large.log", "-o"], { cwd });
  expect(over.stdout.split("\n")[0]).toBe("large.log:4:12: 0 needle");
  const all = await belayHere(["find", "needle", "-o", "large.log"], { cwd });
  expect(all.stdout.split("\n")).toHaveLength(1 + 20 + 1 + 1);
});

test("bytes of such a file that are not UTF-8 are told with their place, and end with 2", async () => {
  onTestFinished(lowerBorder(1000, 10 * MB));
  const cwd = folderWith({ "large.log": "" });
  const file = openSync(join(cwd, "large.log"), "w");
  writeSync(file, `needle 0\n${"x".repeat(9000)}\n`, 0);
  for (let at = 1; at <= 10; at++) writeSync(file, `needle ${at}\n`, at * MB);
  writeSync(file, Buffer.from([0x0a, 0xff, 0x0a]), 0, 3, 7.5 * MB);
  writeSync(file, "\nlast needle", 17 * MB);
  closeSync(file);
  const found = await belayHere(["find", "-o", "needle.*", "large.log"], { cwd });
  const told = "large.log: 1 byte that is not UTF-8, read as U+FFFD, the first at byte 7864321";
  expect(found).toMatchObject({ code: 2, stderr: `${told} (--lossy allows that)\n` });
  expect(found.stdout.split("\n")).toHaveLength(11 + 1 + 1);
  const lossy = await belayHere(["find", "--lossy", "-o", "needle.*", "large.log"], { cwd });
  expect(lossy).toEqual({ code: 0, stdout: found.stdout, stderr: `${told}\n` });
});
