import { expect, test } from "vitest";
import { deliveryCampaign } from "../../campaigns/batch/delivery/campaign.ts";
import type { Death } from "../../campaigns/batch/delivery/deaths.ts";
import { type Evidence, judge } from "../../campaigns/batch/delivery/judge.ts";
import { reportLines } from "../../campaigns/batch/delivery/report.ts";
import { idsOf } from "../../campaigns/batch/delivery/script.ts";
import type { JobRow, RunRow } from "../../src/store/index.ts";
import { folderWith } from "../support/tree.ts";

/** Each of these comes: the next process goes on from what the one before it left. */
const DEATHS: readonly Death[] = [
  { write: "kept:3" },
  { kinds: ["create"], nth: 1, how: "lost" },
  { write: "taken:1" },
  { kinds: ["create"], nth: 1, how: "delayed" },
];

test("a run by batches whose processes are killed ends as an undisturbed one, and pays for no row twice", async () => {
  const plan = { jobs: 4, kills: DEATHS.length, deaths: DEATHS, seed: 5, concurrency: 8, folder: folderWith({}) };
  const report = await deliveryCampaign({ ...plan, say: () => {} });
  expect(report.mismatches).toEqual([]);
  expect(report).toMatchObject({ runs: 1, rows: 10, twice: 0, waves: 3 });
  expect(reportLines(report)[0]).toBe("kills           4: 2 at creates, 1 lost responses, 1 delayed requests");
}, 120_000);

const NONE = { nanodollars: 0, tokens: 0, sub_calls: 0 };

/** What outsiders see of one job with a live call that a kill cut. */
function evidence(): Evidence {
  const [, , id = ""] = idsOf(3);
  const spent = { nanodollars: 90, tokens: 45, sub_calls: 3 };
  const row = { run: "R", id, session: "S", input: null, context: null, state: "done", why: null, rank: 0 } as const;
  const counts = {
    run_at: null,
    ticket: null,
    fence: 0,
    engine: null,
    model: null,
    attempts: 0,
    lapses: 0,
    answers: 0,
  };
  const job: JobRow = { ...row, ...counts, n: 0, spent, told: null, begun_at: 0, ended_at: 1 };
  const limits = { nanodollars: null, tokens: null, sub_calls: null };
  const named = { id: "R", name: "r", queue: "default", share: 1, spec: null, hash: "", limits };
  const doubtful = { nanodollars: 9, tokens: 9, sub_calls: 1 };
  const run: RunRow = { ...named, state: "open", why: null, spent, held: NONE, doubtful, created_at: 0 };
  const api = "openai-completions" as const;
  const of = { api, key: "k", status: 200, model: "m" };
  const rows = ["first", "second"].map((prompt, at) => {
    return { ...of, prompt, body: { prompt }, custom_id: `X-${at}`, batch: `b${at}` };
  });
  const live = { ...of, prompt: "live", body: { prompt: "live" }, custom_id: null, batch: null };
  const made = { api, key: "k", shipment: "X", rows: [], model: "m", file: "f", server: "", created: 0, metadata: {} };
  const over = { ...made, fate: {}, state: "over", cancelled: false } as const;
  const batches = rows.map(({ batch, custom_id }, index) => {
    return { ...over, index, id: batch, results: [{ custom_id, status: 200, body: {} }] };
  });
  const line = `{"job":"${id}","n":0,"status":"done","result":"x","sub_calls":3,"ms":7,"resumed":2,"session":"S"}\n`;
  return {
    ids: [id],
    server: { ran: [...rows, live, live], batches, steps: [] },
    known: new Set(["b0", "b1"]),
    end: { run, jobs: [job], spent, delivered: 2, inFlight: 0 },
    inFlight: 1,
    results: line.replace('"ms":7', '"ms":9'),
    undisturbed: line,
  };
}

const found = (change: Partial<Evidence>) => judge({ ...evidence(), ...change }).mismatches;

test("the judge of deliveries accepts a live call that a kill cut, and finds what must not be", () => {
  const { server, end, results, known } = evidence();
  const [row, ...others] = server.ran;
  const [batch, ...batches] = server.batches;
  if (!row || !batch) throw new Error("there is no row");
  expect(judge(evidence())).toEqual({ mismatches: [], rows: 2, twice: 0, again: 1 });
  expect(found({ server: { ...server, ran: [row, ...server.ran] } })).toEqual([
    "1 rows were paid twice",
    "3 rows ran instead of 2",
  ]);
  expect(found({ server: { ...server, ran: others } })).toEqual(["1 rows ran instead of 2"]);
  expect(found({ server: { ...server, batches: [{ ...batch, state: "open" }, ...batches] } })).toEqual([
    "batches made in vain: b0 open",
  ]);
  expect(found({ known: new Set([...known].slice(1)) })).toEqual(["batches made in vain: b0 over"]);
  expect(found({ inFlight: 0 })).toEqual([
    "1 live calls ran again, and 0 were in flight at kills",
    "1 calls are in doubt, and 0 live ones were in flight at kills",
  ]);
  const step = { kind: "cancel", api: "openai-completions", key: "k", by: "", n: 0, status: 200 } as const;
  expect(found({ server: { ...server, steps: [step] } })).toEqual(["1 batches were to be cancelled"]);
  const held = { ...end.run, held: { ...NONE, tokens: 5 } };
  expect(found({ end: { ...end, run: held } })).toEqual(["5 tokens are held at the end"]);
  expect(found({ end: { ...end, delivered: 1 } })).toEqual(["1 answers came by batches instead of 2"]);
  expect(found({ end: { ...end, spent: { ...end.spent, tokens: 40 } } })).toEqual([
    "the run spent 45 tokens, its journals 40",
  ]);
  expect(found({ results: results.replace('"x"', '"y"') })).toEqual([
    expect.stringMatching(
      /^the results are not those of an undisturbed run: .*"result":"y".* instead of .*"result":"x"/,
    ),
  ]);
  const parked = end.jobs.map((job) => ({ ...job, state: "parked" as const }));
  expect(found({ end: { ...end, jobs: parked } })).toEqual(["not all jobs are done: mixed-2 parked null"]);
});
