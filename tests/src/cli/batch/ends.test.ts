import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { belay, json, said } from "../belay.ts";
import { scene } from "./scene.ts";

test("jobs that lack a part of what was asked for end a batch with 3, as a cell does", async () => {
  const cell = 'job.text === "long" ? "x".repeat(2_000_000) : job.text';
  const { type } = await scene({ "in.csv": "id,text\na,long\nb,short\n", "part.js": cell });
  const line = ["batch", "part.js", "--jobs", "in.csv", "--name", "part"];
  const lack = /^1 job lacks a part of what was asked for, such as a: the result has 1.9 MB.*; --max-result-bytes N/m;
  expect(await type([...line, "-o", "out.csv", "--quiet"])).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(lack),
  });
  const again = await type([...line, "--json"]);
  expect([again.code, json(again)]).toEqual([
    3,
    expect.objectContaining({ success: false, state: "over", exit_code: 3, loss: expect.stringMatching(lack) }),
  ]);
  expect((await type(["jobs", "part", "a"])).code).toBe(3);
  expect((await type(["jobs", "part", "b"])).code).toBe(0);
});

test("a batch says at its end how many jobs had replies that were mended, and its table says which", async () => {
  const cell =
    "(await llm_query(job.text, { tools: [], schema: { properties: { n: { type: 'integer' } }, required: ['n'] } }))";
  const files = { "in.csv": "id,text\na,plain\nb,python\n", "n.js": cell };
  const { folder, type } = await scene(files, ({ prompt }) => ({
    text: prompt.startsWith("plain") ? '{"n":1}' : "{'n': 2}",
  }));
  const line = ["batch", "n.js", "--jobs", "in.csv", "--name", "n"];
  const ended = await type([...line, "-o", "out.csv"]);
  expect(readFileSync(join(folder, "out.csv"), "utf8")).toBe(
    "job,status,id,text,n,error,cost_usd,warnings\na,done,a,plain,1,,0,\nb,done,b,python,2,,0,replies_mended: 1 (punctuation)\n",
  );
  const told = "1 job warns about replies of models, such as b: small faults in replies of models were mended: 1 (";
  expect(ended).toMatchObject(said(0, told));
  expect(json(await type([...line, "--json"]))).toMatchObject({ loss: null, replies: expect.stringContaining(told) });
});

test("a table tells how many of its cells have a ' in front, at the end and later", async () => {
  const { folder, type } = await scene({
    "in.csv": "id,text\na,-5 °C\nb,-5\nc,+49 170\n",
    "same.js": "({ again: job.text })",
  });
  const line = ["batch", "same.js", "--jobs", "in.csv", "--name", "same", "-o", "out.csv"];
  const note = "4 cells have a ' in front, or a spreadsheet would run them as a formula; --plain leaves it out";
  const ended = await type(line);
  expect(readFileSync(join(folder, "out.csv"), "utf8")).toContain("\na,done,a,'-5 °C,'-5 °C,,0\nb,done,b,-5,-5,,0\n");
  expect(ended).toMatchObject(said(0, note));
  expect(ended.stderr.trimEnd().split("\n").at(-1)).toContain("3 results are in out.csv");
  expect(await type(["jobs", "out", "same", "--format", "csv"])).toMatchObject(said(0, note));
  expect((await type([...line, "--plain"])).stderr).not.toContain("in front");
});

test("files that a folder leaves out change no exit code, as in a cell", async () => {
  const { type } = await scene({ "in/a.txt": "one", "in/b.pdf": "%PDF-1.4 torn" });
  const left = (code: number) => said(code, "b.pdf");
  expect(await type(["exec", "-c", "in", "-e", "P.length"])).toMatchObject(left(0));
  expect(await type(["batch", "once.js", "--jobs", "in"])).toMatchObject(left(0));
});

const TWICE = 'await llm_query(job.text, { tools: [] }) + (await llm_query("not " + job.text, { tools: [] }))';

test("jobs whose budget was spent are not advised to spend it again", async () => {
  const { type } = await scene({ "in.csv": "id,text\na,one\nb,two\n", "twice.js": TWICE });
  const line = (...more: string[]) => ["batch", "twice.js", "--jobs", "in.csv", "--name", "spent", ...more];
  const spent = await type(line("--max-sub-calls", "1"));
  const advice =
    "their budget was spent: raise `--max-sub-calls`, `--max-tokens`, `--max-time-ms` or `--max-cost-usd` in another run: belay batch twice.js --jobs in.csv --name spent --max-sub-calls 1 --new\n";
  expect(spent).toMatchObject(said(1, advice));
  expect((await type(["jobs", "spent", "a"])).stdout).toContain(
    "summarise with what there is, or raise `--max-sub-calls`",
  );
  expect((await type(line("--max-sub-calls", "2", "--new"))).code).toBe(0);
  const ofRun = ["batch", "twice.js", "--jobs", "in.csv", "--name", "of-run", "--on-budget", "fail", "--fresh"];
  expect(await type([...ofRun, "--run-max-sub-calls", "1"])).toMatchObject(
    said(1, "--retry-failed, with a higher --run-max-…\n"),
  );
});

test("a run that is over is not called suspended, although the reader of its results has gone", async () => {
  const rows = Array.from({ length: 30 }, (_, n) => `{"text":"t${n}"}\n`).join("");
  const { type, folder, home, server } = await scene({ "in.jsonl": rows });
  const model = ["--model", "local/m", "--base-url", server.url];
  const line = ["batch", "once.js", "--jobs", "in.jsonl", ...model];
  expect((await type(line)).code).toBe(0);
  const gone = await belay([...line, "-o", "-"], { cwd: folder, home, onOutput: ({ stdout }) => stdout?.destroy() });
  expect(gone).toMatchObject(said(0, ": 30/30 done\n"));
  expect(gone.stderr).not.toContain("suspended");
});
