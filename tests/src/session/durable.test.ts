import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { type PendingCall, RlmError, type Settlement } from "../../../runtime/index.ts";
import { load } from "../../../src/context/index.ts";
import { describeSession } from "../../../src/history/index.ts";
import type { Session } from "../../../src/session/api.ts";
import type { CheckpointNotice } from "../../../src/session/events.ts";
import { type JournalRecord, readRecord } from "../../../src/session/journal/records.ts";
import type { SessionOptions } from "../../../src/session/option-types.ts";
import { openSessionWith } from "../../../src/session/session.ts";
import { openStore, type Step, type Store } from "../../../src/store/index.ts";
import { openAsyncSession } from "../../support/async-session.ts";
import { threadEntry } from "../../support/command.ts";
import { AT_ONCE } from "../../support/length-answers.ts";
import { folderWith } from "../../support/tree.ts";

/** Sessions over one store, opened one after the other: each process ends where its store stops answering. */
interface Lives {
  readonly store: Store;
  /** Opens the session `s`; from the commit on that `dies` names, its store neither keeps nor answers anything. */
  open(
    dies?: (step: Step) => "before" | "after" | false,
    options?: SessionOptions,
    damaged?: Partial<Store>,
  ): Promise<Session>;
  /** Opens it over a store whose methods are these. */
  openDamaged(damaged: Partial<Store>, options?: SessionOptions): Promise<Session>;
  /** Ids of the calls that were sent, in order, over all lives. */
  readonly sent: string[];
  answer(call: PendingCall): Promise<Settlement>;
  /** Of the session that was opened last: its store has stopped answering, and what it was given before is kept. */
  death: Promise<void>;
  journal(): Promise<JournalRecord[]>;
}

async function openLives(): Promise<Lives> {
  const store = await openStore(null);
  onTestFinished(() => store[Symbol.asyncDispose]());
  // What still waits when the test ends fails then: a machine that worked on for ever would keep its thread.
  const gone = Promise.withResolvers<never>();
  gone.promise.catch(() => {});
  onTestFinished(() => gone.reject(new Error("the process is gone")));
  const sent: string[] = [];
  let id = "";
  let ids = 0;
  const lives: Lives = {
    store,
    sent,
    answer: async (call) => ({ ok: true, value: call.args[0] ?? null }),
    death: Promise.resolve(),
    async open(dies = () => false, options = {}, damaged = {}) {
      if (id !== "") await store.release(id);
      let dead = false;
      let die = () => {};
      lives.death = new Promise((resolve) => {
        die = resolve;
      });
      const session = await openSessionWith(
        { session: "s", ...options },
        {
          machineEntry: threadEntry("async"),
          newId: () => `id-${++ids}`,
          store: {
            ...store,
            ...damaged,
            async commit(session, step) {
              const when = !dead && dies(step);
              dead ||= when !== false;
              if (when === "after") await store.commit(session, step);
              // The store takes one thing after the other: what came before is kept once this is answered.
              if (when !== false) await store.journal(session).then(die);
              if (dead) await gone.promise;
              return store.commit(session, step);
            },
            release: async () => {},
          },
          answers: {
            facts: {},
            async answer(call) {
              sent.push(call.id);
              return { settlement: await lives.answer(call), record: FREE, cacheKey: null };
            },
            repeatable: (call) => call.args[1] !== 666,
          },
        },
      );
      id = session.id;
      onTestFinished(() => void session.close());
      return session;
    },
    openDamaged: (damaged, options) => lives.open(undefined, options, damaged),
    journal: async () => (await store.journal(id)).map(({ record }) => readRecord(record)),
  };
  return lives;
}

const USAGE = { input: 10, output: 1, cache_read: 0, cache_write: 0, cost_usd: 0.5 };
const FREE = { usage: USAGE, model: "test/model", ...AT_ONCE };

const CELL = `
  class Counter { #n = 0; next() { return ++this.#n; } }
  const counter = new Counter();
  const seen = [];
  for (let i = 0; i < 3; i++) {
    print("round", i);
    const answers = await Promise.all([later(i * 10), later(i * 10 + 1)]);
    seen.push([counter.next(), ...answers]);
    memory.put("rounds", seen.length);
  }
  result = { seen, rounds: memory.get("rounds") };
`;

const EXPECTED = {
  success: true,
  stdout: "round 0\nround 1\nround 2\n",
  result_json: {
    seen: [
      [1, 0, 1],
      [2, 10, 11],
      [3, 20, 21],
    ],
    rounds: 3,
  },
};

/** Dies at the commit of such a record, the first or the `nth`. */
function at(when: "before" | "after", record: string, nth = 1) {
  let count = 0;
  return (step: Step) => step.records?.[0]?.record === record && ++count === nth && when;
}

/** Runs without waiting for an answer that never comes. */
function leave(work: Promise<unknown>): void {
  work.catch(() => {});
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await setTimeout(5);
}

// What each place in the journal is continued with is shown in exec/interrupted.test.ts, without a guest.
test.each([
  ["after", "rlm_start", 1],
  ["after", "rlm_tool_call", 2],
  ["before", "rlm_tool_result", 4],
  ["before", "rlm_complete", 1],
] as const)(
  "an exec whose process ends %s %s %i is finished by the next, no recorded call is sent",
  async (when, kind, nth) => {
    const lives = await openLives();
    const first = await lives.open(at(when, kind, nth));
    leave(first.exec(CELL));
    await lives.death;
    const recorded = (await lives.journal()).flatMap((each) => (each.record === "rlm_tool_result" ? each.call_id : []));
    const before = lives.sent.length;
    const second = await lives.open();
    const finished = await second.resume();
    expect(finished?.envelope).toMatchObject(EXPECTED);
    expect(lives.sent.slice(before).filter((call) => recorded.includes(call))).toEqual([]);
    expect(second.budget().remaining_sub_calls).toBe(50 - 6);
    expect(second.budget().remaining_tokens).toBe(500_000 - 66);
    expect(second.unfinished()).toBeNull();
    expect(await second.exec("[seen.length, memory.get('rounds'), counter.next()]")).toMatchObject({
      result_json: [3, 3, 4],
    });
  },
);

test("the envelope says how often it was continued, and how many answers were taken from the record", async () => {
  const lives = await openLives();
  leave((await lives.open(at("after", "rlm_tool_result", 3))).exec(CELL));
  await lives.death;
  leave((await lives.open(at("after", "rlm_tool_result"))).resume());
  await lives.death;
  const finished = await (await lives.open()).resume();
  expect(finished?.envelope).toMatchObject({ ...EXPECTED, resumed: 2 });
});

test("after a crash the store tells what was asked, answered and printed, and after a resume what was sent again", async () => {
  const lives = await openLives();
  const cell = 'print("so far"); await Promise.all([later("one"), later("two")]); await later("three")';
  const first = await lives.open((step) => {
    const isResult = step.records?.some((record) => record.record === "rlm_tool_result");
    return isResult && lives.sent.length === 3 ? "before" : false;
  });
  leave(first.exec(cell, { name: "cell.js" }));
  await lives.death;
  const [exec] = (await describeSession(lives.store, "s")).execs;
  const call = { name: "later", cached: false, resent: 0 };
  expect(exec).toMatchObject({
    ...{ number: 1, source: cell, file: "cell.js", status: "unfinished" },
    ...{ stdout: "so far\n", time_ms: null, error: null },
    calls: [
      { ...call, number: 1, prompt: "one", status: "ok", answer: "one", time_ms: expect.any(Number) },
      { ...call, number: 2, prompt: "two", status: "ok", answer: "two" },
      { ...call, number: 3, prompt: "three", status: "pending", answer: null, time_ms: null },
    ],
  });
  await (await lives.open()).resume();
  const [over] = (await describeSession(lives.store, "s")).execs;
  expect(over).toMatchObject({ status: "ok", resumed: 1, stdout: "so far\n", result_json: "three" });
  expect(over?.calls.map(({ resent }) => resent)).toEqual([0, 0, 1]);
});

test("an exec that is over is not run again: its record is its answer", async () => {
  const lives = await openLives();
  const first = await lives.open();
  const ran = await first.exec('print("once"); await later("x")');
  await first.close();
  const second = await lives.open();
  expect(second.unfinished()).toBeNull();
  const again = await second.resume();
  expect(again).toMatchObject({ how: "replayed", kind: "cell", rest: [] });
  expect(again?.envelope).toEqual(ran);
  expect(lives.sent).toHaveLength(1);
});

test("while an exec is unfinished nothing else runs, and discard gives it up", async () => {
  const lives = await openLives();
  const first = await lives.open();
  await first.exec("var kept = 1");
  await first.close();
  const dying = await lives.open(at("before", "rlm_tool_result"));
  leave(dying.exec("kept = 2; await later(1)"));
  await lives.death;
  const second = await lives.open();
  expect(second.unfinished()).toMatchObject({ kind: "cell", input: "kept = 2; await later(1)" });
  await expect(second.exec("1")).rejects.toMatchObject({ code: "exec_unfinished" });
  await expect(second.memory.put("a", 1)).rejects.toMatchObject({ code: "exec_unfinished" });
  await second.discard();
  expect(await second.exec("kept")).toMatchObject({ result_json: 1 });
  expect((await lives.journal()).filter(({ record }) => record === "rlm_complete")).toHaveLength(3);
});

test("with onRestart fail, and for calls with side effects, a call in flight fails in the cell", async () => {
  for (const [options, ms] of [
    [{ onRestart: "fail" }, 0],
    [{}, 666],
  ] as const) {
    const lives = await openLives();
    const dying = await lives.open(at("before", "rlm_tool_result"), options);
    leave(dying.exec(`const got = await later(1, ${ms}).catch((error) => [error.message, error.code]); got`));
    await lives.death;
    const second = await lives.open(undefined, options);
    const finished = await second.resume();
    expect(finished?.envelope).toMatchObject({ result_json: ["Process was restarted", "process_restarted"] });
    expect(lives.sent).toHaveLength(1);
    expect(second.budget().remaining_sub_calls).toBe(49);
  }
});

test("a suspended exec is over in time, and goes on where it stood", async () => {
  const lives = await openLives();
  let free = (_: Settlement) => {};
  lives.answer = () => new Promise((resolve) => (free = resolve));
  const suspend = new AbortController();
  const first = await lives.open();
  const running = first.exec("var n = 1; n += await later(1); n", {
    suspend: suspend.signal,
    rest: [{ name: "b.js", source: "n" }],
  });
  await until(() => lives.sent.length === 1);
  suspend.abort();
  const suggestion = "Finish it with `resume()`.";
  expect(await running).toMatchObject({ success: false, error_code: "cancelled", resumable: true, suggestion });
  expect(first.unfinished()).toMatchObject({ kind: "cell" });
  free({ ok: true, value: 1 });
  lives.answer = async () => ({ ok: true, value: 41 });
  const finished = await first.resume();
  expect(finished).toMatchObject({ how: "finished", rest: [{ name: "b.js", source: "n" }] });
  expect(finished?.envelope).toMatchObject({ success: true, result_json: 42, resumed: 1 });
});

test("a session is continued with everything that cells left", async () => {
  const lives = await openLives();
  const first = await lives.open();
  await first.load({ text: "one\ntwo\n", name: "a.txt" });
  await first.helpers.add("double", "const double = (n) => 2 * n;");
  await first.exec("let n = 20; const add = (m) => (n += m); memory.put('k', { a: [1] }); var whole = P");
  await first.close();
  const second = await lives.open();
  expect(second.stats()?.document_count).toBe(1);
  const next = await second.exec(
    "[double(add(1)), memory.get('k'), whole === P, find('two').matches.length, peek(0, 3)]",
  );
  expect(next).toMatchObject({ result_json: [42, { a: [1] }, true, 1, "one"] });
});

test("a query leaves the guest as it was and a checkpoint with its ledger, and is continued like a cell", async () => {
  const lives = await openLives();
  lives.answer = async () => ({ ok: true, value: "noted" });
  const first = await lives.open();
  await first.load({ text: "the fox\nand the hen\n", name: "a.txt" });
  await first.exec("var mine = 1");
  await first.query("fox?", { searchStrategy: "regex" });
  const spent = first.budget();
  expect(spent.remaining_sub_calls).toBeLessThan(50);
  expect(await first.exec("mine")).toMatchObject({ result_json: 1 });
  await first.close();
  const ends = (await lives.store.checkpoints(first.id)).filter(({ kind }) => kind === "end");
  expect(ends.map(({ parent }) => parent)).toEqual([null, ...ends.slice(0, -1).map(({ id }) => id)]);
  expect(ends.map(({ pages }) => pages > 0)).toEqual([true, true, false, true]);

  const dying = await lives.open(at("after", "rlm_tool_result"));
  leave(dying.query("hen?", { searchStrategy: "regex" }));
  await lives.death;
  const second = await lives.open();
  expect(second.unfinished()).toMatchObject({ kind: "query", input: "hen?" });
  const finished = await second.resume();
  expect(finished?.envelope).toMatchObject({ success: true, answer: "noted", resumed: 1, replayed_sub_calls: 1 });
  expect(await second.exec("mine")).toMatchObject({ result_json: 1 });
});

test("a load that was interrupted is done again; text at hand cannot be", async () => {
  const lives = await openLives();
  const dying = await lives.open(at("before", "rlm_complete"));
  leave(dying.load("package.json"));
  await lives.death;
  const second = await lives.open();
  expect(second.unfinished()).toMatchObject({ kind: "load" });
  expect(await second.resume()).toMatchObject({ how: "finished", kind: "load", envelope: null });
  expect(second.stats()?.document_count).toBe(1);

  const dyingAgain = await lives.open(at("before", "rlm_complete"));
  leave(dyingAgain.load({ text: "x", name: "stdin" }));
  await lives.death;
  const third = await lives.open();
  await expect(third.resume()).rejects.toMatchObject({ code: "context_lost" });
  expect(third.unfinished()).toBeNull();
  expect(third.stats()?.document_count).toBe(1);
});

test("a load that was interrupted reads nothing that the caller does not allow", async () => {
  const dir = folderWith({ "private.txt": "secret" });
  const lives = await openLives();
  const dying = await lives.open(at("before", "rlm_complete"), { roots: [dir] });
  leave(dying.load(join(dir, "private.txt")));
  await lives.death;
  const second = await lives.open(undefined, { roots: [folderWith()] });
  await expect(second.resume()).rejects.toMatchObject({ code: "path_outside_sandbox" });
  expect(second.stats()).toBeNull();
});

test("what a store keeps of an exec raises no limit when it goes on", async () => {
  const lives = await openLives();
  const dying = await lives.open(at("before", "rlm_tool_result"));
  leave(dying.exec("await later(1); 7"));
  await lives.death;
  const raised: Partial<Store> = {
    async checkpoint(id) {
      const row = await lives.store.checkpoint(id);
      const extras = JSON.parse(JSON.stringify(row.extras));
      if (extras.state) extras.state = { ...extras.state, limits: NO_LIMITS, running_ms: -1e9 };
      return { ...row, extras };
    },
  };
  const second = await lives.openDamaged(raised);
  const resumed = await second.resume();
  const limits_applied = { max_execution_ms: 120_000, max_output_bytes: 2 ** 20, max_find_results: 100_000 };
  expect(resumed?.envelope).toMatchObject({ result_json: 7, limits_applied });
});

const NO_LIMITS = { max_execution_ms: 1e12, max_output_bytes: 1e12, max_find_results: 1e12 };

test("a machine that ran away leaves the newest checkpoint", async () => {
  const { session } = await openAsyncSession();
  await session.exec("var stage = 'before'");
  const lost = await session.exec("stage = 'step'; await later(1); stage = 'after'; Array(1e9).join('x')", {
    limits: { max_execution_ms: 300 },
  });
  const warnings = [expect.stringMatching(/^state_restored: checkpoint \S+, after 0 of 1 sub-calls$/)];
  expect(lost).toMatchObject({ success: false, error_code: "js_timeout", warnings });
  expect(await session.exec("stage")).toMatchObject({ result_json: "step" });
});

test("every checkpoint is told once it is kept", async () => {
  const told: CheckpointNotice[] = [];
  const events: CheckpointNotice[] = [];
  const { session } = await openAsyncSession({
    options: {
      onCheckpoint: (checkpoint) => told.push(checkpoint),
      onProgress: (event) => event.kind === "checkpoint" && events.push(event.checkpoint),
    },
  });
  await session.exec("await later(1); await Promise.all([later(2), later(3)])");
  expect(told.map(({ kind }) => kind)).toEqual(["step", "step", "end"]);
  expect(told.every(({ pages, bytes }) => pages > 0 && bytes === pages * 4096)).toBe(true);
  expect(events).toEqual(told);
  await session.dryRun("await later(4)");
  expect(events).toHaveLength(3);
});

const lost = (id: string) => new RlmError("checkpoint_lost", `checkpoint ${id} is damaged`, { suggestion: "None." });

test("where the newest checkpoint of an exec is damaged an earlier one is taken, with all recorded answers", async () => {
  const lives = await openLives();
  const dying = await lives.open(at("before", "rlm_tool_result", 6));
  leave(dying.exec(CELL));
  await lives.death;
  const steps = (await lives.store.checkpoints(dying.id)).filter(({ kind }) => kind === "step").map(({ id }) => id);
  expect(steps).toHaveLength(3);
  const recorded = lives.sent.slice(0, 5);
  const second = await lives.openDamaged({
    image: (id) => (steps.indexOf(id) >= 1 ? Promise.reject(lost(id)) : lives.store.image(id)),
  });
  const finished = await second.resume();
  expect(finished?.envelope).toMatchObject({ ...EXPECTED, resumed: 1, replayed_sub_calls: 5 });
  expect(lives.sent.slice(6).filter((id) => recorded.includes(id))).toEqual([]);
  expect(second.budget().remaining_sub_calls).toBe(50 - 6);
});

test("records that do not fit the cell end it as checkpoint_lost, and the state is that before it", async () => {
  const lives = await openLives();
  const first = await lives.open();
  await first.exec("var round = 0");
  await first.close();
  const dying = await lives.open(at("after", "rlm_tool_result"));
  // Run from its start the cell asks for something else: another process is another time.
  leave(dying.exec("round++; await later(Date.now())"));
  await lives.death;
  const isStep = (id: string) => lives.store.checkpoint(id).then(({ kind }) => kind === "step");
  const second = await lives.openDamaged({
    image: async (id) => ((await isStep(id)) ? Promise.reject(lost(id)) : lives.store.image(id)),
  });
  const finished = await second.resume();
  expect(finished?.envelope).toMatchObject({ success: false, error_code: "checkpoint_lost" });
  expect(lives.sent).toHaveLength(1);
  expect(await second.exec("round")).toMatchObject({ result_json: 0 });
});

test("of a checkpoint with a damaged image, context, memory and helpers are kept", async () => {
  const lives = await openLives();
  const first = await lives.open();
  await first.load({ text: "the context", name: "c.txt" });
  await first.helpers.add("h", "const two = () => 2;");
  await first.exec("var gone = 1; memory.put('k', [1])");
  await first.close();
  const older = new Set((await lives.store.checkpoints(first.id)).map(({ id }) => id));
  const second = await lives.openDamaged({
    image: (id) => (older.has(id) ? Promise.reject(lost(id)) : lives.store.image(id)),
  });
  expect(await second.exec("[typeof gone, memory.get('k'), two(), P]")).toMatchObject({
    result_json: ["undefined", [1], 2, "the context"],
    warnings: [expect.stringMatching(/^variables_lost: checkpoint /)],
  });
  expect(await second.exec("1")).toMatchObject({ warnings: [] });
});

test("several paths are one append, which loads where there is nothing yet, and are read again if the store has lost them", async () => {
  const dir = folderWith({ "a.txt": "one", "src/b.txt": "two", "src/c.md": "three" });
  const lives = await openLives();
  const first = await lives.open(undefined, { roots: [dir], cwd: dir });
  await first.exec("const kept = 1");
  await first.loadAppend({ paths: ["src/*.txt"] });
  await first.loadAppend({ paths: ["src", "a.txt"], maxFiles: 2 });
  await expect(first.loadAppend({ paths: ["a.txt", "missing.txt"] })).rejects.toMatchObject({ code: "path_not_found" });
  expect(await first.exec("[kept, list_docs().map(({ id }) => id)]")).toMatchObject({
    result_json: [1, ["src/b.txt", "src/c.md", "a.txt"]],
  });
  const hash = first.stats()?.context_hash ?? "";
  await first.close();
  const lost = () => Promise.reject(new RlmError("context_lost", "it is damaged", { suggestion: "" }));
  const second = await lives.openDamaged({ context: lost }, { roots: [dir], cwd: "/" });
  expect(second.stats()?.context_hash).toBe(hash);
});

test("a context that the store has lost is read again, if its sources are unchanged", async () => {
  const dir = folderWith({ "a.txt": "one", "b.txt": "two" });
  const lives = await openLives();
  const first = await lives.open(undefined, { roots: [dir] });
  await first.load(join(dir, "a.txt"));
  await first.loadAppend(join(dir, "b.txt"));
  const hash = first.stats()?.context_hash ?? "";
  await first.close();
  const read = { roots: [dir], cwd: dir };
  const loaded = await load({ kind: "path", path: "a.txt" }, read);
  const { key } = await load({ kind: "path", path: "b.txt" }, read, loaded);
  const kept: string[] = [];
  const damaged: Partial<Store> = {
    context: (key) => Promise.reject(new RlmError("context_lost", `the context ${key} is damaged`, { suggestion: "" })),
    putContext: async (context) => void kept.push(context.key),
  };
  // Somebody else may have written the journal: what it names is read only if the caller allows it.
  const suggestion = expect.stringContaining("add the folder to `roots`");
  await expect(lives.openDamaged(damaged)).rejects.toMatchObject({ code: "context_lost", suggestion });
  expect(kept).toEqual([]);
  const second = await lives.openDamaged(damaged, { roots: [dir] });
  expect(second.stats()?.context_hash).toBe(hash);
  expect(kept).toEqual([key]);
  await second.close();
  writeFileSync(join(dir, "b.txt"), "three");
  const message = expect.stringMatching(`${hash}.*a\\.txt.*b\\.txt`);
  await expect(lives.openDamaged(damaged, { roots: [dir] })).rejects.toMatchObject({ code: "context_lost", message });
});
