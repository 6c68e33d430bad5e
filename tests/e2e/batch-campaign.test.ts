import { expect, test } from "vitest";
import { batchCampaign } from "../../campaigns/batch/campaign.ts";
import { type Evidence, judge } from "../../campaigns/batch/judge.ts";
import { promptsOf } from "../../campaigns/batch/script.ts";
import type { JobRow, RunRow } from "../../src/store/index.ts";
import { JOB, RUN } from "../support/jobs/scene.ts";
import { folderWith } from "../support/tree.ts";

test("a batch whose processes are killed ends as an undisturbed one, and pays for no recorded answer again", async () => {
  const plan = { jobs: 3, kills: 3, seed: 5, answerMs: 30, concurrency: 2, folder: folderWith({}), say: () => {} };
  const report = await batchCampaign(plan);
  expect(report.mismatches).toEqual([]);
  expect(report.kills).toBe(3);
});

/** What outsiders see of one job that a kill cut in its second call. */
function evidence(): Evidence {
  const prompts = promptsOf("a");
  const [first = "", second = ""] = prompts;
  const spent = { nanodollars: 0, tokens: 50, sub_calls: 5 };
  const job: JobRow = { ...JOB, state: "done", spent, begun_at: 0, ended_at: 1 };
  const run: RunRow = { ...RUN, spent };
  const line = '{"job":"a","n":0,"status":"done","result":"x","sub_calls":5,"tokens":50,"ms":7}\n';
  return {
    ids: ["a"],
    asked: [first, second, ...prompts.slice(1)].map((prompt) => ({ prompt, by: "one" })),
    cuts: [{ by: "one", before: 2, after: 2, recorded: new Set([first]) }],
    end: { run, jobs: [job], recorded: new Set(prompts), spent },
    results: line,
    undisturbed: line,
  };
}

const found = (change: Partial<Evidence>) => judge({ ...evidence(), ...change }).mismatches;

test("the judge of the campaign accepts a call that a kill cut, and finds what must not be", () => {
  const { asked, end, results } = evidence();
  const [first = "", second = ""] = promptsOf("a");
  expect(judge(evidence())).toEqual({ mismatches: [], again: 1, inFlight: 1 });
  expect(found({ asked: [...asked, { prompt: second, by: "one" }] })).toHaveLength(2);
  expect(found({ cuts: [{ by: null, before: 2, after: 2, recorded: new Set([first, second]) }] })).toEqual([
    "1 requests were sent again, and 0 calls were in flight at kills",
    `request 2 asks for an answer on record: ${second}`,
  ]);
  expect(found({ results: results.replace('"x"', '"y"') })).toEqual([
    "the results are not those of an undisturbed run",
  ]);
  expect(found({ results: results + results })).toHaveLength(2);
  expect(found({ end: { ...end, jobs: end.jobs.map((job) => ({ ...job, state: "failed" })) } })).toEqual([
    "not all jobs are done: a failed, why null, 0 lapses, null",
  ]);
  expect(found({ end: { ...end, spent: { tokens: 40, sub_calls: 5 } } })).toEqual([
    "the run spent 50 tokens, its journals 40",
  ]);
  const cheaper = results.replace('"sub_calls":5', '"sub_calls":2');
  expect(found({ results: cheaper })).toHaveLength(1);
  expect(found({ results: cheaper, retried: new Set(["a"]) })).toEqual([]);
  const other = evidence().cuts.map((cut) => ({ ...cut, by: "another" }));
  expect(found({ cuts: other }).at(-1)).toBe(`request 2 repeats 1 with no kill between: ${second}`);
  expect(found({ cuts: [] }).at(-1)).toBe(`request 2 repeats 1 with no kill between: ${second}`);
});
