import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { json, said } from "../belay.ts";
import { scene } from "./scene.ts";

const ROWS = "id,text,stars\na,one,5\nb,bad,2\nc,three,1\nd,bad,4\n";

/** A run over rows, of which those with "bad" are filtered by `local/m`. */
async function filtering() {
  const open = await scene({ "in.csv": ROWS }, ({ body, prompt }) =>
    body.model === "m" && prompt === "bad"
      ? { status: 400, body: JSON.stringify({ error: { code: "content_filter", message: "filtered" } }) }
      : { text: `${prompt} by ${body.model}` },
  );
  writeFileSync(join(open.folder, "s.js"), "await llm_query(job.text, { tools: [] })");
  const line = ["batch", "s.js", "--jobs", "in.csv", "-o", "out.jsonl"];
  return { ...open, batch: (...more: string[]) => open.type([...line, ...more]), line };
}

test("--retry-failed --model runs failed rows with another model within the run, and no other row", async () => {
  const { batch, lines, server, type } = await filtering();
  const first = await batch();
  expect(first).toMatchObject(
    said(
      1,
      "2 jobs are filtered by the provider: ask differently or use another model: belay batch s.js --jobs in.csv -o out.jsonl --retry-failed --model PROVIDER/ID\n",
    ),
  );
  const [run = ""] = /s-\w{8}/.exec(first.stderr) ?? [];
  const asked = server.requests.length;
  expect(await batch("--retry-failed", "--model", "local/other")).toMatchObject(
    said(0, `run ${run}: 4 jobs, all known\n2 jobs will be tried again with local/other\n`),
  );
  expect(server.requests).toHaveLength(asked + 2);
  const results = lines("out.jsonl");
  expect(results.map(({ result }) => result)).toEqual(["one by m", "bad by other", "three by m", "bad by other"]);
  expect(results).toMatchObject([{ job: "a" }, { model: "local/other" }, {}, { model: "local/other" }]);
  expect(results[0]).not.toHaveProperty("model");
  expect((await type(["jobs", run, "b"])).stdout).toContain("\nasks local/other, not the model of its run\n");
  expect(json(await type(["jobs", run, "--json"])).jobs).toMatchObject([{}, { model: "local/other" }, {}, {}]);
  expect(json(await type(["jobs", "--costs", "--json"])).costs).toMatchObject([
    { model: "local/m", jobs: 2 },
    { model: "local/other", jobs: 2 },
  ]);
  // Nothing has failed any more, and the first line is about the same run.
  expect(await batch()).toMatchObject(said(0, `run ${run}: 4 jobs, all known\n`));
  expect((await type(["jobs"])).stdout.match(/s-\w{8}/g)).toEqual([run]);
});

test("a run of a name is found whatever model its failed rows are to ask, and another script is refused", async () => {
  const { batch, folder } = await filtering();
  await batch("--name", "mine");
  writeFileSync(join(folder, "s.js"), "await llm_query(job.text, { tools: [] }) // other");
  expect(await batch("--name", "mine", "--retry-failed", "--model", "local/other")).toMatchObject(
    said(1, "run mine was begun with another script"),
  );
  writeFileSync(join(folder, "s.js"), "await llm_query(job.text, { tools: [] })");
  const again = ["--name", "mine", "--retry-failed", "--model", "local/other"];
  expect(await batch(...again, "--only", "d")).toMatchObject(said(1, "\n1 job will be tried again with local/other\n"));
  expect(await batch("--name", "mine", "--retry-failed")).toMatchObject(said(1, "\n1 job will be tried again\n"));
  expect(await batch(...again)).toMatchObject(said(0, "mine: 4/4 done"));
});

test("--only and --where run a part, whose results are those of the line", async () => {
  const { batch, lines, server } = await filtering();
  const names = () => lines("out.jsonl").map(({ job }) => job);
  expect(await batch("--only", "c", "--only", "a")).toMatchObject(said(0, "--only: 2 of 4 inputs\nrun s-"));
  expect(names()).toEqual(["a", "c"]);
  expect(await batch("--where", "job.stars <= 2 && job.text !== 'bad' // low")).toMatchObject(
    said(0, ": 1 of 4 inputs\n"),
  );
  expect(names()).toEqual(["c"]);
  expect(server.requests).toHaveLength(2);
  const whole = await batch("--first", "1", "--where", "job.stars > 4");
  expect(whole.stderr).toMatch(/run them all: belay batch s.js --jobs in.csv -o out.jsonl\n$/);
  expect((await batch("--dry-run", "--where", "job.stars < 5")).stdout).toContain("\n3 jobs, by ");
  expect(await batch("--where", "job.stars < 3")).toMatchObject(
    said(1, '\n1 job of the run is not chosen by --where "job.stars < 3" and not in out.jsonl\n'),
  );
});

test.each([
  ["--only", "z", 2, '--only "z": no input has this id'],
  ["--where", "job.stars > 9", 2, '--where "job.stars > 9" chooses none of 4 inputs of in.csv'],
  ["--where", "job.none.x > 1", 1, '--where fails for job "a" (line 2 of in.csv): TypeError:'],
  ["--where", "job.stars = 1", 1, "--where fails for job"],
  ["--where", "job.stars <=", 1, "--where"],
  ["--where", "llm_query('x', { model: 'local/m' })", 1, "it gives a promise"],
  ["--where", "P.length > 0", 1, "--where"],
])("%s %s chooses nothing: %i, %s", async (flag, value, code, words) => {
  const { batch, server, type } = await filtering();
  expect(await batch(flag, value)).toMatchObject(said(code, words));
  expect(server.requests).toHaveLength(0);
  expect((await type(["jobs"])).stdout).toContain("no runs in");
});

test("of a run with other open jobs no part is run", async () => {
  const { batch } = await filtering();
  await batch("--name", "open", "--run-max-sub-calls", "1", "--concurrency", "1");
  expect(await batch("--name", "open", "--only", "d")).toMatchObject(
    said(1, "error: --only: the run open has 2 further jobs that are not over (run_differs)\n"),
  );
});
