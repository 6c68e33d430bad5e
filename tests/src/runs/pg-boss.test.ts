import { PgBoss } from "pg-boss";
import { describe, expect, test } from "vitest";
import type { Ticket, Tried, Verdict } from "../../../src/runs/dispatcher.ts";
import { openPgBoss } from "../../../src/runs/pg-boss.ts";
import { readServerUrl } from "../../../src/store/store-place.ts";
import { startProxy } from "../../support/postgres/proxy.ts";
import { freshStoreUrl, NO_POSTGRES } from "../../support/postgres/server.ts";
import { openSql } from "../../support/postgres/sql.ts";

const QUICK = { heartbeat: 10, touch: 1, poll: 0.5, pollDead: 0.5, supervise: 60, monitor: 60, retry: 0 };
const open = (url: string, log = (_: string) => {}) => openPgBoss({ url, queue: "default", log, periods: QUICK });
const ticket = (n: number): Ticket => ({ run: "R", n, rank: n });

/** What pg-boss itself does with a queue, whose workers it does not know. */
async function openSupervisor(url: string) {
  const { connectionString, schema } = readServerUrl(url);
  const options = { connectionString, schema: `${schema}_queue`, supervise: false, schedule: false };
  const boss = new PgBoss(options);
  await boss.start();
  return Object.assign(boss, { [Symbol.asyncDispose]: () => boss.stop({ graceful: false }) });
}

function workAs(dispatcher: Awaited<ReturnType<typeof openPgBoss>>, attempt: (tried: Tried) => Promise<Verdict>) {
  const stop = new AbortController();
  const work = dispatcher.work({ concurrency: 1, signal: stop.signal }, attempt, async () => "over");
  return {
    async stop() {
      stop.abort();
      await work;
    },
  };
}

describe.skipIf(NO_POSTGRES !== null)(NO_POSTGRES ?? "pg-boss", () => {
  test("a worker that went silent comes back: its end changes nothing, and its signal has aborted", async () => {
    const url = await freshStoreUrl();
    await using a = await open(url);
    await using b = await open(url);
    await using sql = await openSql(url);
    await using supervisor = await openSupervisor(url);
    await a.offer([ticket(1)]);
    const [begun, back] = [Promise.withResolvers<Tried>(), Promise.withResolvers<Verdict>()];
    const [second, end] = [Promise.withResolvers<Tried>(), Promise.withResolvers<Verdict>()];
    const first = workAs(a, async (tried) => {
      begun.resolve(tried);
      return back.promise;
    });
    const { id, changed } = await begun.promise;
    const aborted = new Promise((resolve) => changed.addEventListener("abort", resolve));
    const other = workAs(b, async (tried) => {
      second.resolve(tried);
      return end.promise;
    });
    const lapse = async () => {
      await sql.query("UPDATE QUEUE.job SET heartbeat_on = now() - interval '1 hour' WHERE state = 'active'");
      await sql.query("UPDATE QUEUE.queue SET monitor_on = NULL");
      await supervisor.supervise("default");
      return (await sql.query("SELECT retry_count FROM QUEUE.job"))[0]?.retry_count;
    };
    await expect.poll(lapse).toBe(1);
    const again = await second.promise;
    expect([again.id, again.lapses]).toEqual([id, 1]);
    await aborted;
    expect(again.changed.aborted).toBe(false);
    // pg-boss takes A's job for ended since its signal aborted; A's try goes on, and `work` waits for it.
    let isOver = false;
    const stopped = first.stop().then(() => (isOver = true));
    expect(await sql.query("SELECT state FROM QUEUE.job")).toEqual([{ state: "active" }]);
    expect(isOver).toBe(false);
    back.resolve("over");
    await stopped;
    expect(await sql.query("SELECT state FROM QUEUE.job")).toEqual([{ state: "active" }]);
    end.resolve("over");
    await other.stop();
    expect(await sql.query("SELECT state, retry_count FROM QUEUE.job")).toEqual([
      { state: "completed", retry_count: 1 },
    ]);
  });

  test("a verdict that meets a server that is away is told once it is back: no lapse is counted", async () => {
    await using way = await startProxy(await freshStoreUrl());
    await using dispatcher = await open(way.url);
    await dispatcher.offer([ticket(1)]);
    const lapses: number[] = [];
    const again = Promise.withResolvers<void>();
    const worker = workAs(dispatcher, async (tried) => {
      lapses.push(tried.lapses);
      if (lapses.length > 1) again.resolve();
      else way.cutAt("R/1", "before");
      return lapses.length > 1 ? "over" : { againMs: 0 };
    });
    await again.promise;
    await worker.stop();
    expect(lapses).toEqual([0, 0]);
  });

  test("what others wrote into the queue is told and dropped", async () => {
    const url = await freshStoreUrl();
    const said: string[] = [];
    await using dispatcher = await open(url, (text) => said.push(text));
    await using sql = await openSql(url);
    await using supervisor = await openSupervisor(url);
    const id = await supervisor.send("default", { run: 7 }, { priority: 9 });
    await dispatcher.offer([ticket(1)]);
    const tried = Promise.withResolvers<Tried>();
    const worker = workAs(dispatcher, async (one) => {
      tried.resolve(one);
      return "over";
    });
    expect((await tried.promise).n).toBe(1);
    await worker.stop();
    expect(said).toEqual([`queue: what has the id ${id} names no job, and is dropped`]);
    expect(await sql.query("SELECT state FROM QUEUE.job")).toEqual([{ state: "completed" }, { state: "completed" }]);
  });

  test("numbers of an older queue become those of this build", async () => {
    const url = await freshStoreUrl();
    await (await open(url))[Symbol.asyncDispose]();
    await (await openPgBoss({ url, queue: "default" }))[Symbol.asyncDispose]();
    await using sql = await openSql(url);
    const [queue] = await sql.query(
      "SELECT policy, heartbeat_seconds, retry_limit, retry_delay, dead_letter FROM QUEUE.queue WHERE name = 'default'",
    );
    expect(queue).toEqual({
      policy: "short",
      heartbeat_seconds: 30,
      retry_limit: 5,
      retry_delay: 1,
      dead_letter: "default.dead",
    });
  });
});

test("a server that is not there is told without its password", async () => {
  const opened = open("postgres://somebody:hunter2@127.0.0.1:1/db");
  await expect(opened).rejects.toMatchObject({
    code: "store_failed",
    message: expect.stringMatching(/^(?!.*hunter2).*somebody:\*\*\*@127\.0\.0\.1:1/),
  });
});
