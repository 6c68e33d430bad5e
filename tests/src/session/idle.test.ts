import { setTimeout as delay } from "node:timers/promises";
import fc from "fast-check";
import { expect, onTestFinished, test, vi } from "vitest";
import { openMachines } from "../../../runtime/threads/machines.ts";
import { openSession, type Session } from "../../../src/index.ts";
import type { Host } from "../../../src/session/env.ts";
import type { HostedOptions } from "../../../src/session/option-types.ts";
import { openSessionWith } from "../../../src/session/session.ts";
import type { Answers } from "../../../src/session/sub-calls/port.ts";
import { FREE } from "../../../src/session/sub-calls/port.ts";
import { shareStore } from "../../../src/store/index.ts";
import { seededRandom } from "../../support/seeded-random.ts";

const TEXT = "alpha beta\ngamma";

/** One thread, which the machines of these tests have in turn. */
const machines = openMachines({ cores: 1, kept: 1 });

/** Answers every call when `answer` does. */
function answersOf(answer: () => Promise<string>): Answers {
  return {
    facts: {},
    answer: async () => ({ settlement: { ok: true, value: await answer() }, record: FREE, cacheKey: null }),
    repeatable: () => true,
  };
}

/** A session in memory, and the ids of the checkpoints that its machines were opened from; "fresh" for none. */
async function openWatched(options: HostedOptions, parts: Host = {}) {
  const store = await shareStore(null);
  const opened: string[] = [];
  const watching = {
    ...store,
    async image(id: string) {
      opened.push(id);
      return store.image(id);
    },
    async hasBaseline(id: string) {
      opened.push("fresh");
      return store.hasBaseline(id);
    },
  };
  const session = await openSessionWith(options, { store: watching, ...parts });
  onTestFinished(async () => {
    await session.close();
    await store[Symbol.asyncDispose]();
  });
  return { session, opened, store };
}

/** Waits until what the session's machine was given up for is over: another machine had its thread. */
async function takeTheThread(): Promise<void> {
  await using other = await openSessionWith({}, { machines });
  await other.exec("1");
}

test.each([10, 100_000])("a context that grows with no machine open keeps variables, and is P (%s)", async (n) => {
  const { session } = await openWatched({ idleMs: 0 });
  await session.load({ text: "a".repeat(n), name: "a.txt" });
  await session.exec("let n = P.length");
  await session.loadAppend({ text: "the end", name: "b.txt" });
  const { result_json } = await session.exec("[P.length > n + 7, P.endsWith('the end'), peek(0, P.length) === P]");
  expect(result_json).toEqual([true, true, true]);
});

test("nothing is opened before it is needed, and what was given up is there again", async () => {
  const { session, opened } = await openWatched({ idleMs: 0 });
  await session.load({ text: TEXT, name: "t.txt" });
  await session.helpers.add("h", "const twice = (n) => 2 * n;");
  await session.exec("let n = 1; const grow = () => ++n; class Kept {}; memory.put('k', [1]); P.length");
  for (let cell = 2; cell < 5; cell++) {
    expect(
      await session.exec("[grow(), twice(n), typeof Kept, memory.get('k'), P, find('beta').matches.length]"),
    ).toMatchObject({ result_json: [cell, 2 * cell, "function", [1], TEXT, 1], warnings: [] });
  }
  expect(await session.memory.get("k")).toEqual([1]);
  // Once for each thing that was asked: the load opened a fresh one, all others what was before.
  expect(opened[0]).toBe("fresh");
  expect(opened.slice(1)).toHaveLength(6);
  expect(new Set(opened).size).toBeGreaterThan(4);
});

test("a session that nothing is run in opens no machine", async () => {
  const { session, opened } = await openWatched({});
  await session.close();
  expect(opened).toEqual([]);
});

test("a machine whose thread another session needs is given up, and goes on where it was", async () => {
  const { session, opened } = await openWatched({ idleMs: Number.POSITIVE_INFINITY }, { machines });
  await session.exec("var n = 1");
  await session.exec("n++");
  expect(opened).toEqual(["fresh"]);
  await takeTheThread();
  expect(await session.exec("n")).toMatchObject({ result_json: 2 });
  expect(opened).toHaveLength(2);
});

test("machines that have one thread in turn know nothing of each other", async () => {
  const { session: first } = await openWatched({}, { machines });
  await first.load({ text: "the secret", name: "s.txt" });
  await first.exec("globalThis.mine = 1; Array.prototype.spoilt = 1; memory.put('k', 1); find('secret')");
  const { session: second } = await openWatched({}, { machines });
  expect(await second.exec("[typeof mine, [].spoilt, memory.list(), session().context_hash]")).toMatchObject({
    result_json: ["undefined", null, [], null],
  });
  expect(await second.exec("find('secret')")).toMatchObject({ error_code: "context_not_loaded" });
});

test("a thread in which a machine had to be ended serves no other", async () => {
  const { session } = await openWatched({}, { machines });
  const stuck = "const s = 'a'.repeat(2 ** 25); for (;;) s.indexOf('b')";
  expect(await session.exec(stuck, { limits: { max_execution_ms: 1 } })).toMatchObject({ error_code: "js_timeout" });
  await takeTheThread();
  expect(await session.exec("1+1")).toMatchObject({ result_json: 2 });
});

test("the thread of a cell that was suspended while it waited serves the next machine", async () => {
  const threads = new Set<object>();
  async function take(entry: URL) {
    const taken = await machines.take(entry);
    threads.add(taken.seat.thread);
    return taken;
  }
  const stop = new AbortController();
  const answers = answersOf(() => {
    stop.abort();
    return new Promise(() => {});
  });
  const { session } = await openWatched({}, { machines: { ...machines, take }, answers });
  const cell = await session.exec("await llm_query('never answered')", { suspend: stop.signal });
  expect(cell).toMatchObject({ success: false, error_code: "cancelled" });
  await using other = await openSessionWith({}, { machines: { ...machines, take } });
  expect(await other.exec("1+1")).toMatchObject({ result_json: 2 });
  expect(threads.size).toBe(1);
});

test("while a cell waits for another session's, that one is opened, with one core and one thread", async () => {
  const child = async (depth: number): Promise<string> => {
    const answers = answersOf(() => child(depth + 1));
    await using session = await openSessionWith({}, { machines, answers });
    const { result_json } = await session.exec(depth === 3 ? "'leaf'" : "'in ' + await llm_query('go')");
    return String(result_json);
  };
  expect(await child(0)).toBe("in in in leaf");
});

test("a session is closed while its machine rests, while it is given up and while it opens again", async () => {
  const resting = await openWatched({ idleMs: Number.POSITIVE_INFINITY }, { machines });
  await resting.session.exec("1");
  await resting.session.close();
  const leaving = await openWatched({ idleMs: 0 }, { machines });
  await leaving.session.exec("1");
  const other = takeTheThread();
  await Promise.all([leaving.session.close(), other]);
  const opening = await openWatched({ idleMs: 0 }, { machines });
  await opening.session.exec("var n = 1");
  const cell = opening.session.exec("n");
  await Promise.all([opening.session.close(), cell]);
  expect(await cell).toMatchObject({ result_json: 1 });
  await expect(opening.session.exec("n")).rejects.toMatchObject({ code: "session_closed" });
});

test("cells that come while the machine is given up find all as it was", async () => {
  const sessions: Session[] = [];
  for (let i = 0; i < 4; i++) sessions.push((await openWatched({ idleMs: 0 }, { machines })).session);
  const rounds = 8;
  const asked = sessions.map(async (session) => {
    for (let n = 1; n <= rounds; n++) {
      expect(await session.exec("globalThis.n = (globalThis.n ?? 0) + 1")).toMatchObject({ result_json: n });
    }
  });
  await Promise.all(asked);
});

test("to give up the machine costs nothing of the budget", async () => {
  const { session } = await openWatched({ idleMs: 0 }, { answers: answersOf(async () => "yes") });
  await session.exec("await llm_query('a', { tools: [] })");
  const { remaining_sub_calls } = session.budget();
  expect(remaining_sub_calls).toBe(49);
  expect(await session.exec("budget().sub_calls")).toMatchObject({ result_json: 49 });
  expect(session.budget().remaining_sub_calls).toBe(49);
});

test.each(["query", "dry run", "failed cell", "failed load", "failed helper", "cut cell"])(
  "after a %s the state that a machine is opened with is the one that it was given up with",
  async (what) => {
    const { session } = await openWatched({ idleMs: 0, roots: [] }, { answers: answersOf(async () => "note") });
    await session.load({ text: TEXT, name: "t.txt" });
    await session.exec("var n = 1; const next = () => ++n");
    if (what === "query") await session.query("alpha?");
    if (what === "dry run") await session.dryRun("n = 100; await llm_query('a')");
    if (what === "failed cell") await session.exec("n = 5; throw new Error('no')");
    if (what === "failed load") await session.load("/nowhere").catch(() => {});
    if (what === "failed helper") await session.helpers.add("h", "let let").catch(() => {});
    if (what === "cut cell") await session.exec("n = 5; for (;;) ;", { limits: { max_execution_ms: 20 } });
    const changed = what === "failed cell" || what === "cut cell";
    expect(await session.exec("[next(), P.length]")).toMatchObject({ result_json: [changed ? 6 : 2, TEXT.length] });
  },
);

/** What sessions are asked in the property below. */
const DEEDS: readonly ((session: Session) => Promise<unknown>)[] = [
  (session) => session.exec("globalThis.list = [...(globalThis.list ?? []), list?.length ?? 0]; list"),
  (session) => session.exec("var f = ((g) => () => [1, ...(g?.() ?? [])])(globalThis.f); f().length"),
  (session) => session.exec("[Math.random(), typeof f, typeof helped]"),
  (session) => session.exec("memory.put('k', (memory.get('k') ?? 0) + 1); memory.get('k')"),
  (session) => session.exec("globalThis.late = llm_query('x').then((x) => x + 1); await late"),
  (session) => session.exec("P.length + find('a').matches.length"),
  (session) =>
    session.exec("globalThis.iter ??= (function* () { for (let i = 0; ; i++) yield i })(); iter.next().value"),
  (session) => session.exec("const x = 1; x.y.z"),
  (session) => session.exec("null.x", {}),
  (session) => session.helpers.add("h", "const helped = () => 1;"),
  (session) => session.helpers.remove("h"),
  (session) => session.load({ text: TEXT, name: "t.txt" }),
  (session) => session.loadAppend({ text: "more", name: `${session.stats()?.document_count ?? 0}.txt` }),
  (session) => session.memory.list(),
];

test("a session whose machine is given up after everything answers as one whose machine stays", async () => {
  async function answersTo(deeds: readonly number[], idleMs: number): Promise<string> {
    const parts = { answers: answersOf(async () => "a"), random: seededRandom(1) };
    await using session = await openSessionWith({ idleMs }, parts);
    const given: unknown[] = [];
    for (const deed of deeds) {
      given.push(await DEEDS[deed]?.(session).catch(({ code, message }) => ({ code, message })));
    }
    const own = new Set(["session_id", "exec_id", "execution_time_ms", "budget"]);
    return JSON.stringify(given, (key, value) => (own.has(key) ? null : value));
  }
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(DEEDS.length - 1), { minLength: 2, maxLength: 12 }), async (deeds) => {
      expect(await answersTo(deeds, 0)).toBe(await answersTo(deeds, Number.POSITIVE_INFINITY));
    }),
    // A case that fails is told as it is: to shrink it would take longer than a test may.
    { numRuns: 4, endOnFailure: true },
  );
});

test.each([-1, Number.NaN])("idleMs %s is refused", async (idleMs) => {
  const message = expect.stringContaining("idleMs");
  await expect(openSession({ idleMs })).rejects.toMatchObject({ code: "invalid_argument", message });
});

test("the next machine opens when the thread of a lost one is gone, and the exec does not wait for that", async () => {
  const found = openMachines();
  const seen: string[] = [];
  const machines: typeof found = {
    ...found,
    async take(kind) {
      const { seat, baseline } = await found.take(kind);
      seen.push("opened");
      const end = async () => {
        await delay(300);
        await seat.thread.end();
        seen.push("gone");
      };
      return { seat: { ...seat, thread: { ...seat.thread, end } }, baseline };
    },
  };
  const { session } = await openWatched({ memoryMb: 16 }, { machines });
  const full = await session.exec("const kept = []; for (;;) kept.push(new Uint8Array(2 ** 20).fill(7))");
  expect([full.success || full.error_code, ...seen]).toEqual(["memory_limit_exceeded", "opened"]);
  expect((await session.exec("1 + 1")).result_json).toBe(2);
  expect(seen).toEqual(["opened", "gone", "opened"]);
});

/** False for kernels that give a page to memory which was read and never written: there an image takes all that it spans. */
function isReadFree(): boolean {
  const before = process.memoryUsage.rss();
  const bytes = 2 ** 26;
  const found = new Uint8Array(bytes).indexOf(1);
  return found === -1 && process.memoryUsage.rss() - before < bytes / 2;
}

test.runIf(process.platform === "linux" && isReadFree())(
  "a machine that is opened again takes no memory for what lay free in its guest",
  async () => {
    const { session } = await openWatched({ memoryMb: 256, idleMs: 0 }, { machines: openMachines() });
    let peak = 0;
    const look = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), 2);
    onTestFinished(() => clearInterval(look));
    await session.exec("let large = new Uint8Array(2e8).fill(7); large = null; 1");
    const first = peak;
    await vi.waitFor(() => expect(process.memoryUsage.rss()).toBeLessThan(first - 1.5e8));
    peak = 0;
    expect((await session.exec("1 + 1")).result_json).toBe(2);
    expect(peak).toBeLessThan(first - 1e8);
  },
);
