import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { openStore } from "../../../../src/store/index.ts";
import { said } from "../belay.ts";
import { belayHere } from "../in-process.ts";
import { linesIn, scene } from "./scene.ts";

const ROWS = "id,text\na,one\nb,bad\nc,three\n";

test("a run over a .csv writes a line for each row, and the same line again sends nothing", async () => {
  const { type, lines, server } = await scene({ "in.csv": ROWS });
  const line = ["batch", "ask.js", "--jobs", "in.csv", "-o", "out.jsonl"];
  const first = await type(line);
  expect(first).toMatchObject({ code: 1, stdout: "" });
  expect(lines("out.jsonl").map(({ job, status, result }) => [job, status, result])).toEqual([
    ["a", "done", "label of one"],
    ["b", "failed", null],
    ["c", "done", "label of three"],
  ]);
  expect(lines("out.jsonl")[1]).toMatchObject({ error_code: "js_error", error: "Error: no label", sub_calls: 1 });
  const [reason, why, again] = first.stderr.trimEnd().split("\n").slice(-3);
  expect(reason).toBe("1 × js_error: Error: no label");
  expect(why).toMatch(/^why they failed: belay jobs ask-[0-9a-f]{8} --state failed$/);
  expect(again).toBe("try them again: belay batch ask.js --jobs in.csv -o out.jsonl --retry-failed");
  expect(server.requests).toHaveLength(3);
  const before = lines("out.jsonl");
  expect(await type(line)).toMatchObject(said(1, "3 jobs, all known\n"));
  expect(lines("out.jsonl")).toEqual(before);
  expect(server.requests).toHaveLength(3);
});

test.each(["docs", "docs/*"])(
  "a file of %s that no load can read is left out by name, and a folder of nothing else is an error",
  async (given) => {
    const files = {
      "docs/a.txt": "alpha",
      "docs/b.rtf": "{\\rtf1 b}",
      "docs/c.txt": "gamma!",
      "rtf/b.rtf": "{\\rtf1 b}",
    };
    const { type, lines } = await scene({ ...files, "length.js": "result = P.length" });
    const line = ["batch", "length.js", "--jobs", given, "-o", "out.jsonl"];
    for (const jobs of ["2 jobs\n", "2 jobs, all known\n"]) {
      const { code, stderr } = await type(line);
      expect([code, stderr]).toEqual([
        0,
        expect.stringContaining("left out: docs/b.rtf is an RTF file, which `soffice --convert-to docx` converts\n"),
      ]);
      expect(stderr).toContain(jobs);
      expect(lines("out.jsonl").map(({ job, result }) => [job, result])).toEqual([
        ["docs/a.txt", 5],
        ["docs/c.txt", 6],
      ]);
    }
    const nothing = await type(["batch", "length.js", "--jobs", "rtf", "--name", "none"]);
    expect(nothing).toMatchObject(
      said(1, "rtf/b.rtf is an RTF file, which `soffice --convert-to docx` converts (document_unreadable)"),
    );
    expect(await type(["jobs", "none"])).toMatchObject(said(1, "(run_not_found)"));
  },
);

test("a job that another process has tried again while the run goes on is tried in it", async () => {
  const retried = Promise.withResolvers<void>();
  const { type, home, lines } = await scene(
    { "in.csv": "id,text\na,slow\nb,bad\n", "once.js": FAILS_ONCE },
    async ({ prompt }) => {
      if (prompt === "slow") await retried.promise;
      return { text: "ok" };
    },
  );
  const running = type("batch once.js --jobs in.csv --name mine -o out.jsonl --concurrency 2".split(" "));
  await using store = await openStore(home);
  const run = await vi.waitFor(async () => (await store.jobs.run("mine")) ?? Promise.reject(new Error("no run")));
  await vi.waitFor(async () => expect(await store.jobs.counts(run.id)).toMatchObject({ failed: 1 }));
  await store.jobs.change(run.id, { to: "retry", ids: null, states: ["failed"], fresh: false });
  retried.resolve();
  expect(await running).toMatchObject({ code: 1 });
  expect((await store.jobs.read({ run: run.id, n: 1 }))?.job).toMatchObject({ state: "failed" });
  expect(lines("out.jsonl").map(({ status }) => status)).toEqual(["done", "failed"]);
});

const FAILS_ONCE = 'if (job.text === "bad") throw new Error("bad"); await llm_query(job.text, { tools: [] })';

const NAMED = ["--jobs", "in.jsonl", "--name", "mine"];

test("another script is another run; under the same name it is refused, and --new makes another", async () => {
  const { type } = await scene({ "in.jsonl": "1\n2\n", "other.js": "job * 2" });
  const line = (script: string, ...more: string[]) => ["batch", script, ...NAMED, ...more];
  expect(await type(line("once.js"))).toMatchObject({ code: 0 });
  expect(await type(line("other.js"))).toMatchObject(
    said(1, "(run_differs)\nsuggestion: Begin another run with `--new`"),
  );
  const renamed = await type([...line("other.js", "--new"), "--json"]);
  expect(JSON.parse(renamed.stdout)).toMatchObject({
    success: true,
    run: "mine-2",
    jobs: { all: 2, done: 2 },
    exit_code: 0,
  });
});

test("each file of a folder is the context of a job, and its path names the job", async () => {
  const { type } = await scene({ "in/a.txt": "apple", "in/b/c.txt": "pear", "read.js": "[job.path, P]" });
  const { stdout, code } = await type(["batch", "read.js", "--jobs", "in", "-o", "-"]);
  expect(code).toBe(0);
  expect(linesIn(stdout).map(({ job, result }) => [job, result])).toEqual([
    ["in/a.txt", ["in/a.txt", "apple"]],
    ["in/b/c.txt", ["in/b/c.txt", "pear"]],
  ]);
});

test("-c gives all jobs one context, and --context-field gives each its own", async () => {
  const { type } = await scene({
    "law.txt": "the law",
    "x.txt": "the x",
    "read.js": 'job.q + ": " + P',
    "in.jsonl": '{"q":"1","f":"law.txt"}\n{"q":"2","f":"x.txt"}\n',
  });
  const line = ["batch", "read.js", "--jobs", "in.jsonl", "-o", "-"];
  const shared = await type([...line, "-c", "law.txt"]);
  expect(linesIn(shared.stdout).map(({ result }) => result)).toEqual(["1: the law", "2: the law"]);
  const own = await type([...line, "--context-field", "f"]);
  expect(linesIn(own.stdout).map(({ result }) => result)).toEqual(["1: the law", "2: the x"]);
});

test("--dry-run sends and keeps nothing, shows what a script reads as job, and multiplies what the first jobs take", async () => {
  const { type, server } = await scene({
    "in.jsonl": Array.from({ length: 40 }, (_, n) => `{"text":"t${n}"}\n`).join(""),
  });
  const { code, stdout } = await type(["batch", "ask.js", "--jobs", "in.jsonl", "--dry-run"]);
  expect(code).toBe(0);
  expect(stdout.match(/^job /gm)).toHaveLength(3);
  expect(stdout.match(/^`job` is .*/gm)).toEqual(['`job` is {"text":"t0"}']);
  expect((await type(["help", "batch", "--all"])).stdout).toContain("`job` is the input:");
  expect(stdout).toMatch(/^40 jobs, by the first 3: ~40 sub-calls, ~\d/m);
  expect(server.requests).toHaveLength(0);
  const another = await type(["jobs", "--store", "a b"]);
  expect(another.stdout).toMatch(
    /^no runs in .*\nmake one: belay batch SCRIPT.js --jobs FILE.jsonl --store '.*a b'\n$/,
  );
});

test("a run stops at its limit with 3, and a higher one goes on without paying again", async () => {
  const { type, server } = await scene({ "in.jsonl": '{"text":"1"}\n{"text":"2"}\n{"text":"3"}\n' });
  const line = ["batch", "ask.js", "--jobs", "in.jsonl", "--concurrency", "1"];
  const stopped = await type([...line, "--run-max-sub-calls", "2"]);
  expect(stopped).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(
      /\npaused: --run-max-sub-calls 2 is spent, .*\ncontinue with: belay batch .*, with a higher --run-max-sub-calls\n$/,
    ),
  });
  expect(server.requests).toHaveLength(2);
  // Nobody knows what the model costs, so a limit of dollars would let the parked jobs fail.
  const name = /^run (\S+):/.exec(stopped.stderr)?.[1] ?? "";
  expect(await type(["jobs", "resume", name, "--run-max-cost-usd", "5"])).toMatchObject(
    said(1, "the price of local/m is not known, so --run-max-cost-usd cannot be kept"),
  );
  expect((await type(["jobs", name])).stdout).toMatch(/\(paused\): .*\nwhy: --run-max-sub-calls 2 is spent/);
  expect(await type([...line, "--run-max-sub-calls", "3"])).toMatchObject({ code: 0 });
  expect(server.requests).toHaveLength(3);
});

test("--fail-fast pauses the run, and the same line goes on", async () => {
  const { type } = await scene({
    "in.jsonl": "1\n2\n3\n4\n",
    "fail.js": "if (job < 3) throw new Error(String(job)); job",
  });
  const line = ["batch", "fail.js", "--jobs", "in.jsonl", "--concurrency", "1", "--fail-fast", "2"];
  const stopped = await type(line);
  expect(stopped.code).toBe(3);
  expect(stopped.stderr).toMatch(/continue with: belay batch fail.js .*--fail-fast 2\n$/);
  // The line that is shown goes on with the run that --new has begun, and does not begin a third one.
  const other = await type([...line, "--name", "mine", "--new"]);
  expect(other.stderr).toMatch(/\nrun mine: |^run mine: /);
  expect((await type([...line, "--name=mine", "--new"])).stderr).toMatch(
    /continue with: belay batch fail.js .*--fail-fast 2 --name mine-2\n$/,
  );
});

/** By what is typed behind `belay batch`. */
const REFUSED: Readonly<Record<string, string>> = {
  "--jobs in.jsonl": "name the SCRIPT.js that runs for each job",
  "once.js": "--jobs is missing: the inputs, one job for each",
  "once.js other.js --jobs in.jsonl":
    "batch takes one SCRIPT.js, and other.js is one more; put a pattern for --jobs in quotes, so that the shell leaves it",
  "once.js --jobs in.jsonl --detach": "--detach needs workers on a server's store: --store postgres://HOST/DB",
  "once.js --jobs in.jsonl --no-work": "--no-work needs workers on a server's store: --store postgres://HOST/DB",
  "once.js --jobs in.jsonl --queue q": "--queue names a queue of a server's store, and this store is a folder",
  "once.js --jobs in.jsonl --share 4":
    "--share is for runs that share workers, and in a folder each command works on its own run",
  "once.js --jobs in.jsonl --share 9": "--share is 9: it takes a whole number from 1 to 8",
  "once.js --jobs in.jsonl --retries -1": "--retries is -1: it takes a whole number from 0 to 100",
  "once.js --jobs in.jsonl --run-max-cost-usd 0": "--run-max-cost-usd is 0: it takes a number of dollars above 0",
  "once.js --jobs in.jsonl --rate anthropic":
    "--rate is anthropic: it takes a provider and how much it is sent, such as anthropic=60/min, anthropic=10/2min or anthropic=60/min,100000tok/min",
  "once.js --jobs - -c -": "`-` is given twice, but stdin can be read only once",
  "once.js --jobs in.jsonl --json -o -": "--json and --out - would both write to stdout",
  "once.js --jobs in -c in.jsonl":
    "-c cannot be combined with --jobs of files: each file is the context of its own job",
  "once.js --jobs twice.jsonl":
    'line 3 of twice.jsonl has the id "x", and so has line 1 of twice.jsonl. Ids name jobs: each is given once. --id FIELD names another field, and --id none numbers the jobs.',
  "once.js --jobs bad.jsonl":
    "line 2 of bad.jsonl is not valid JSON: Expected property name or '}' in JSON at position 1 (line 1 column 2). Each line is one JSON value.",
  "once.js --jobs empty.jsonl": "no job found in empty.jsonl",
  "once.js --jobs in.jsonl --context-field f": 'line 1 of in.jsonl has no path in "f", which --context-field names',
  "once.js --jobs in.jsonl -o labels.xlsx":
    "--out labels.xlsx: its ending is neither .jsonl (a line of JSON for each) nor .csv (a table); add --format csv or --format jsonl",
  "once.js --jobs in.jsonl --format csv": "--format needs --out FILE",
  "once.js --jobs in.jsonl --format tsv -o a.csv": "--format is tsv: it takes jsonl, csv or table",
  "once.js --jobs in.jsonl --format table -o a.csv": "--format table is for stdout, and --out a.csv is a file",
  "once.js --jobs in.jsonl -o a.csv --unordered":
    "--unordered is for lines of JSON: a table is written whole, in the order of the inputs",
  "once.js --jobs in.jsonl -o ./in.jsonl": "--out ./in.jsonl: the run reads in.jsonl; name another file",
};

test.each(Object.entries(REFUSED))("belay batch %s is refused before anything is made", async (line, problem) => {
  const { type, home } = await scene({
    ...{ "in.jsonl": '{"f":true}\n', "other.js": "1", "in/a.txt": "a", "empty.jsonl": "\n" },
    ...{ "twice.jsonl": '{"id":"x"}\n{"id":"y"}\n{"id":"x"}\n', "bad.jsonl": "1\n{\n" },
  });
  const { code, stdout, stderr } = await type(["batch", ...line.split(" ")]);
  expect({ code, stdout, stderr }).toEqual({
    code: 2,
    stdout: "",
    stderr: `belay batch: ${problem}\ntry: belay help batch\n`,
  });
  expect(() => readFileSync(join(home, "belay.db"))).toThrow();
});

test("an --out that cannot be written is refused before a run is made", async () => {
  const { type } = await scene({ "in.jsonl": "1\n" });
  const { code, stderr } = await type(["batch", "once.js", "--jobs", "in.jsonl", "-o", "missing/out.jsonl"]);
  expect({ code, stderr }).toMatchObject(said(1, "(output_failed)"));
  expect(await type(["jobs"])).toMatchObject({ stdout: expect.stringContaining("no runs in ") });
});

test("a run whose model or key is missing is refused before anything is added", async () => {
  const { folder, home } = await scene({ "in.csv": ROWS });
  const env = { XDG_CONFIG_HOME: join(folder, "config"), PI_CODING_AGENT_DIR: join(folder, "pi") };
  const type = (args: readonly string[]) => belayHere(args, { cwd: folder, home, env });
  const line = ["batch", "ask.js", "--jobs", "in.csv"];
  const server = ["--model", "local/m", "--base-url", "http://127.0.0.1:9/v1"];
  for (const [flags, words] of [
    [
      [],
      "error: ask.js asks a model, and the run names none (no_model_configured)\nsuggestion: Set the key of a provider (ANTHROPIC",
    ],
    [
      [...server, "--api-key-env", "BELAY_TEST_NO_SUCH_KEY"],
      "error: the environment variable BELAY_TEST_NO_SUCH_KEY is not set",
    ],
    [["--model", "openai/no-such"], "error: no API key for the provider openai"],
    [["--model", "nope/no-such"], "error: unknown provider in nope/no-such"],
  ] as const) {
    expect(await type([...line, ...flags])).toMatchObject(said(1, words));
  }
  expect((await type(["jobs"])).stdout).toContain("no runs in ");
  expect(await type(["batch", "once.js", "--jobs", "in.csv"])).toMatchObject({ code: 0 });
});

test("a run whose key is wrong is paused, says once why and how to go on, and the same line continues it", async () => {
  let isWrong = true;
  const { type, lines } = await scene({ "in.csv": ROWS.replace("bad", "two") }, () =>
    isWrong ? { status: 401, body: '{"error":{"message":"wrong key"}}' } : { text: "ok" },
  );
  const line = ["batch", "ask.js", "--jobs", "in.csv", "-o", "out.jsonl"];
  const { code, stderr } = await type(line);
  expect(code).toBe(3);
  // A run that takes long also shows the refusal in its lines of progress.
  const told = stderr.split("\n").filter((line) => line.includes("wrong key") && !line.includes(" · refused: "));
  expect(told).toHaveLength(1);
  expect(stderr).toMatch(
    /\npaused: auth_failed: local\/m: 401 wrong key\. Check the provider's API key .*\ncontinue with: belay batch ask\.js /,
  );
  isWrong = false;
  expect(await type(line)).toMatchObject({ code: 0 });
  expect(lines("out.jsonl").map(({ status }) => status)).toEqual(["done", "done", "done"]);
});

test("--context-field reads what lies in the table's folder or a --root, and never what is Belay's own", async () => {
  const { type, folder, home, lines } = await scene({
    "data/in.csv": "id,f\na,data/a.txt\n",
    "data/a.txt": "inside",
    "data/out.csv": "id,f\nb,data/link\n",
    "data/own.csv": "id,f\nc,home/key\n",
    "other/secret.txt": "outside",
    "p.js": "P.slice(-7)",
  });
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, "key"), "signing");
  symlinkSync(join(folder, "other/secret.txt"), join(folder, "data/link"));
  const line = (table: string) => ["batch", "p.js", "--jobs", table, "--context-field", "f", "-o", "out.jsonl"];
  expect(await type(line("data/in.csv"))).toMatchObject({ code: 0 });
  expect(await type(line("data/out.csv"))).toMatchObject(
    said(
      2,
      'line 2 of data/out.csv names the context "data/link", which is not read: it lies neither in the table\'s folder nor in a --root. Allow its folder with --root DIR',
    ),
  );
  expect(await type([...line("data/out.csv"), "--root", "other"])).toMatchObject({ code: 0 });
  expect(lines("out.jsonl").at(-1)).toMatchObject({ result: "outside" });
  expect(await type([...line("data/own.csv"), "--root", "."])).toMatchObject(
    said(2, "which is not read: Belay keeps its own files there"),
  );
  const loaded = await type(["exec", "-c", join(home, "key"), "-e", "P", "--no-store"]);
  expect(loaded).toMatchObject(said(1, "Belay keeps its own files there"));
});
