import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folderWith } from "../../support/tree.ts";
import { belayHere } from "./in-process.ts";

const LARGE = '"x".repeat(3_000_000)';

test("--output has the whole result of the last cell, and nothing of it is missing", async () => {
  const cwd = folderWith();
  const [text, json] = await Promise.all([
    belayHere(["exec", "-e", "[1, 2]", "-e", `print("seen"); ${LARGE}`, "-o", "out.txt", "-q"], { cwd }),
    belayHere(["exec", "--json", "-e", "[{ a: 1 }, { a: 2 }]", "-o", "out.csv", "--format", "csv", "-q"], { cwd }),
  ]);
  expect(text).toEqual({ code: 0, stdout: "[1, 2]\nseen\n", stderr: "" });
  expect(readFileSync(join(cwd, "out.txt"), "utf8") === "x".repeat(3_000_000)).toBe(true);
  expect(json).toMatchObject({ code: 0, stderr: "" });
  const output = { path: join(cwd, "out.csv"), bytes: 9 };
  expect(JSON.parse(json.stdout)).toMatchObject({ success: true, result_json: [{ a: 1 }, { a: 2 }], output });
  expect(readFileSync(output.path, "utf8")).toBe("a\r\n1\r\n2\r\n");
  expect(readdirSync(cwd).sort()).toEqual(["out.csv", "out.txt"]);
});

test("what is left out ends with code 3, a number and a flag, and the flag brings it", async () => {
  const cwd = folderWith({ "a.txt": "e".repeat(20) });
  const [result, shown, printed, found, piped] = await Promise.all([
    belayHere(["exec", "-e", LARGE, "-e", "1"], { cwd }),
    belayHere(["exec", "-e", LARGE, "--max-result-bytes", "4000000"], { cwd }),
    belayHere(["exec", "--json", "-e", "print('y'.repeat(5000)); 1", "--max-output-bytes", "1000", "-q"], { cwd }),
    belayHere(["exec", "-e", "find('e').matches.length", "-c", "a.txt", "--max-find-results", "7"], { cwd }),
    belayHere(["repl"], { cwd, input: "result = new Map()\n1\n" }),
  ]);
  const left = "the result has 2.9 MB, and the limit is 1 MB, so it is left out; --output FILE writes it";
  expect(result).toMatchObject({ code: 3, stdout: "1\n", stderr: expect.stringContaining(`warning: ${left}`) });
  expect([shown.code, shown.stdout.length, shown.stderr]).toEqual([0, 3_000_001, ""]);
  expect(printed).toMatchObject({ code: 3, stderr: "" });
  expect(JSON.parse(printed.stdout).warnings).toEqual(["output_truncated: 4.9 KB > 1000 bytes"]);
  const stopped = "warning: find stopped at 7 matches; --max-find-results N\n";
  expect(found).toEqual({ code: 3, stdout: "7\n", stderr: stopped });
  expect(piped).toMatchObject({ code: 3, stdout: "1\n" });
});

test("--format prints the last result alone, and one that does not fit is printed by the line that is told", async () => {
  const home = join(folderWith(), "home");
  const cell = 'print("aside"); [{ a: [1] }, 2]';
  const [lines, misfit, unkept] = await Promise.all([
    belayHere(["exec", "-e", "'first'", "-e", cell, "--format", "jsonl"]),
    belayHere(["exec", "-e", cell, "--format", "csv", "-s", "work"], { home }),
    belayHere(["exec", "-e", cell, "--format", "csv", "--no-store"]),
  ]);
  expect(lines).toEqual({ code: 0, stdout: '{"a":[1]}\n2\n', stderr: "aside\n" });
  expect(misfit).toMatchObject({ code: 1, stdout: "" });
  expect(misfit.stderr).toContain(
    "error: the result does not fit csv: row 2 is a number, and a row is an object or an array\n",
  );
  expect(misfit.stderr).toContain("`belay resume --format json work` prints it as JSON");
  expect(unkept).toMatchObject({ code: 1, stdout: '[{"a":[1]},2]\n' });
  const again = await belayHere(["resume", "--format", "json", "work", "-q"], { home });
  expect(again).toEqual({ code: 0, stdout: '[{"a":[1]},2]\n', stderr: "aside\n" });
});

test("-o FILE.csv writes a table or refuses, and an ending of other tables is refused before anything is run", async () => {
  const [home, cwd] = [join(folderWith(), "home"), folderWith()];
  const exec = (cell: string, ...more: readonly string[]) =>
    belayHere(["exec", "-q", "-e", cell, ...more], { home, cwd });
  const written = (file: string) => readFileSync(join(cwd, file), "utf8");
  expect(await exec('[{ a: 1, b: ["x"] }, { a: 2 }]', "-o", "rows.csv")).toMatchObject({ code: 0 });
  expect(written("rows.csv")).toBe('a,b\r\n1,"[""x""]"\r\n2,\r\n');
  await exec("[{ a: 1 }, 2]", "-o", "rows.jsonl");
  expect(written("rows.jsonl")).toBe('{"a":1}\n2\n');
  await exec('"made by\\nthe cell"', "-o", "own.csv");
  expect(written("own.csv")).toBe("made by\nthe cell");
  const refused = await exec("({ a: 1 })", "-o", "object.csv", "-s", "work");
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("does not fit csv: it takes an array of rows"),
  });
  expect(existsSync(join(cwd, "object.csv"))).toBe(false);
  expect(await belayHere(["resume", "work", "-q", "-o", "object.json"], { home, cwd })).toMatchObject({ code: 0 });
  expect(written("object.json")).toBe('{"a":1}\n');
  expect(await exec("[{ a: 1 }]", "-o", "rows.xlsx")).toEqual({
    code: 2,
    stdout: "",
    stderr:
      "belay exec: --output rows.xlsx: .xlsx files are not written; name it .csv (rows), .jsonl (lines) or .json\ntry: belay help exec\n",
  });
  expect(await exec("[{ a: 1 }]", "-o", "rows.tsv", "--format", "csv")).toMatchObject({ code: 0 });
});

test("--format table has rows under each other", async () => {
  const cell = '[{ path: "a.md", lines: 3 }, { path: "long/b.md", lines: 12, more: [1] }]';
  expect(await belayHere(["exec", "-q", "-e", cell, "--format", "table"])).toEqual({
    code: 0,
    stdout: "path       lines  more\na.md           3\nlong/b.md     12  [1]\n",
    stderr: "",
  });
});

test("a result that does not fit its file leaves the exec to be resumed, into the same file", async () => {
  const [home, cwd] = [join(folderWith(), "home"), folderWith()];
  const file = join(cwd, "out.csv");
  const args = ["exec", "-e", `let large = [${LARGE}]; large`, "-o", "out.csv", "--format", "csv", "-s", "work"];
  const misfit = await belayHere(args, { home, cwd });
  expect(misfit).toMatchObject({ code: 1, stdout: "" });
  expect(misfit.stderr).toContain("row 1 is a string");
  expect(existsSync(file)).toBe(false);
  const resumed = await belayHere(["resume", "-q", "--format", "json"], { home });
  expect(resumed).toEqual({ code: 0, stdout: "", stderr: "" });
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual(["x".repeat(3_000_000)]);
});

test("a FILE that cannot be written is refused before the cell runs", async () => {
  const [home, cwd] = [join(folderWith(), "home"), folderWith({ file: "" })];
  const refused = await belayHere(["exec", "-e", "1", "-s", "work", "-o", "file/out.txt"], { home, cwd });
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toMatch(/^error: .*file\/out\.txt cannot be written: ENOTDIR \(output_failed\)\n/);
  expect((await belayHere(["show", "work"], { home })).code).toBe(1);
});
