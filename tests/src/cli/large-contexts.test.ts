import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { everyRun, openStore } from "../../../src/store/index.ts";
import { lowerBorder } from "../../support/low-border.ts";
import { folderWith } from "../../support/tree.ts";
import { json, jsonLines } from "./belay.ts";
import { belayHere } from "./in-process.ts";

const LINE = "0123456789 GET /index.html ERROR timed out\n";
const MB = 2 ** 20;
/** The border for these tests, which is lower than the real one. */
const BORDER = 10 * MB;
const BYTES = 11 * MB;

/** A log of 11 MB that was written an hour ago. */
function largeLog(): string {
  onTestFinished(lowerBorder(1000, BORDER));
  const folder = folderWith({});
  const path = join(folder, "big.log");
  writeFileSync(path, Buffer.alloc(BYTES, LINE));
  const hourAgo = Date.now() / 1000 - 3600;
  utimesSync(path, hourAgo, hourAgo);
  return folder;
}

test("a large log is refused with the flag that allows it, and explored with the flag", async () => {
  const cwd = largeLog();
  const home = join(cwd, "home");
  const exec = (code: string, ...args: string[]) =>
    belayHere(["exec", "-e", code, "-s", "logs", "--json", ...args], { cwd, home });
  const texts = () => readdirSync(join(home, "texts"));
  const load = ["-c", "big.log"];

  truncateSync(join(cwd, "big.log"), 101 * MB);
  const refused = json(await exec("1", ...load));
  expect(refused).toMatchObject({
    error_code: "context_too_large",
    error_message: "big.log makes the context too large: 101.0 MB > 100 MB",
    suggestion: expect.stringMatching(/^Allow it with `--max-context-mb 200`: its text then takes 101\.0 MB of disk\./),
  });
  truncateSync(join(cwd, "big.log"), BYTES);
  expect((await exec("1", ...load, "--max-context-mb", "10")).code).toBe(1);

  const loaded = json(await exec("[P.length, count('ERROR')]", ...load, "--max-context-mb", "200"));
  expect(loaded).toMatchObject({ result_json: [BYTES, Math.floor(BYTES / LINE.length)] });
  const kept = texts();
  expect(kept).toHaveLength(2);

  // The session has recorded the limit, and the text lies where it lay.
  expect(json(await exec("P.slice(0, 10)", ...load))).toMatchObject({ result_json: "0123456789" });
  const ran = json(await exec("P.split('x')"));
  expect(ran).toMatchObject({ success: false, error_code: "js_error" });
  expect(ran.suggestion).toContain("find, count, search, peek");

  appendFileSync(join(cwd, "big.log"), "one more\n");
  const changed = json(await exec("1", ...load));
  expect(changed).toMatchObject({
    error_code: "context_changed",
    error_message: expect.stringMatching(
      /^the session has the context [0-9a-f]{12}, and -c differs: .* more text than/,
    ),
  });
  expect(texts()).toEqual(kept);
  writeFileSync(join(cwd, "big.log"), `${LINE}another\n`, { flag: "r+" });
  truncateSync(join(cwd, "big.log"), BYTES);
  expect(json(await exec("1", ...load))).toMatchObject({
    error_code: "context_changed",
    error_message: expect.stringContaining("has other text within the 1,048,576 bytes from 0 of P on"),
  });
  truncateSync(join(cwd, "big.log"), 201 * MB);
  expect(json(await exec("1", ...load))).toMatchObject({
    error_code: "context_changed",
    error_message: expect.stringContaining("-c differs: big.log makes the context too large: 201.0 MB > 200 MB"),
    suggestion: expect.stringMatching(/^Without -c the session .* with --reload: Allow it with `--max-context-mb 300`/),
  });
  expect(texts()).toEqual(kept);
  truncateSync(join(cwd, "big.log"), BYTES);
  appendFileSync(join(cwd, "big.log"), "one more\n");
  expect(json(await exec("P.slice(-9)", ...load, "--reload"))).toMatchObject({ result_json: "one more\n" });
});

test("jobs over one large file share its text, which is said before it is written, and their run records the limit", async () => {
  const cwd = largeLog();
  const home = join(cwd, "home");
  writeFileSync(join(cwd, "job.js"), "result = [job.id, count(job.id), P.length]");
  writeFileSync(join(cwd, "jobs.jsonl"), ["ERROR", "POST"].map((id) => `{"id":"${id}","file":"big.log"}\n`).join(""));
  const line = ["batch", "job.js", "--jobs", "jobs.jsonl", "--context-field", "file", "-o", "out.jsonl"];
  const refused = await belayHere([...line, "--max-context-mb", "10"], { cwd, home });
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("with `--max-context-mb 100`") });

  const estimate = await belayHere([...line.slice(0, -2), "--dry-run", "--max-context-mb", "200"], { cwd, home });
  expect(estimate).toMatchObject({ code: 0, stdout: expect.stringContaining("2 jobs") });
  expect(existsSync(join(home, "texts"))).toBe(false);

  const { code, stderr } = await belayHere([...line, "--max-context-mb", "200"], { cwd, home });
  expect(code).toBe(0);
  expect(stderr).toContain(`big.log: its text takes 11.0 MB of disk, in ${join(home, "texts")}\n`);
  const results = jsonLines({ stdout: readFileSync(join(cwd, "out.jsonl"), "utf8") });
  expect(results.map(({ result }) => result)).toEqual([
    ["ERROR", Math.floor(BYTES / LINE.length), BYTES],
    ["POST", 0, BYTES],
  ]);
  expect(readdirSync(join(home, "texts"))).toHaveLength(2);
  await using store = await openStore(home);
  const runs = await Array.fromAsync(everyRun(store.jobs));
  expect(runs.map(({ spec }) => spec)).toMatchObject([{ max_context_mb: 200 }]);
});
