import { expect, test } from "vitest";
import type { Dispatcher, Verdict } from "../../../src/runs/dispatcher.ts";
import { openInProcess, openPgBoss } from "../../../src/runs/index.ts";
import { dueJobs } from "../../../src/runs/runs.ts";
import { openStore } from "../../../src/store/index.ts";
import { freshStoreUrl, NO_POSTGRES } from "../../support/postgres/server.ts";

const QUEUE = "default";
const KINDS = [
  { kind: "in the process", skipped: null, place: async () => null },
  { kind: "over pg-boss", skipped: NO_POSTGRES, place: freshStoreUrl },
];

test.for(KINDS)(
  "$kind, a run with share 4 that joins another one advances four times as fast",
  async ({ skipped, place: placeOf }, { skip }) => {
    skip(skipped !== null, skipped ?? "");
    const place = await placeOf();
    await using store = await openStore(place);
    await using dispatcher: Dispatcher =
      place === null
        ? openInProcess()
        : await openPgBoss({ url: place, queue: QUEUE, periods: { poll: 0.5, supervise: 1, monitor: 1 } });
    const { jobs } = store;
    async function submit(id: string, share: number) {
      const limits = { nanodollars: null, tokens: null, sub_calls: null };
      await jobs.open({ id, name: id, queue: QUEUE, share, spec: {}, hash: id, limits });
      const rows = Array.from({ length: 25 }, (_, n) => ({
        id: `${n}`,
        session: `${id}${n}`,
        input: `${n}`,
        context: null,
      }));
      await jobs.add(id, rows);
      await dispatcher.offer(dueJobs(jobs, QUEUE, { overdueMs: 0 }));
    }
    await submit("old", 1);
    const tried: string[] = [];
    const stop = new AbortController();
    const attempt = async ({ run, n, id }: Parameters<Parameters<Dispatcher["work"]>[1]>[0]): Promise<Verdict> => {
      tried.push(run);
      await jobs.begin({ run, n }, { ticket: id, fence: 0, engine: null, lapses: 0, answers: 0 });
      if (tried.length === 5) await submit("new", 4);
      if (tried.length === 30) stop.abort();
      await jobs.finish({ run, n }, 0, { state: "done", result: null, told: null });
      return "over";
    };
    await dispatcher.work({ concurrency: 1, signal: stop.signal }, attempt, async () => "over");
    const since = tried.slice(5);
    expect(since.slice(0, 2)).toContain("new");
    const news = since.filter((run) => run === "new").length;
    expect([news, since.length - news]).toEqual([20, 5]);
  },
);
