import { getEventListeners } from "node:events";
import { setImmediate } from "node:timers/promises";
import { expect, onTestFailed, test } from "vitest";
import type { Answer, Checkpoint, ExecState, PendingCall, Settlement, Slice } from "../../../../runtime/index.ts";
import { runLoop } from "../../../../src/session/exec/loop.ts";
import type { Beginning, LoopMachine, LoopParts, Replayed } from "../../../../src/session/exec/ports.ts";
import type { Answered } from "../../../../src/session/sub-calls/port.ts";
import { FREE } from "../../../../src/session/sub-calls/port.ts";
import { openSuspension } from "../../../../src/session/suspension.ts";
import { newState } from "../../../support/checkpoints.ts";

// Nothing here waits for a clock: a loop that waits for what never comes fails soon.

/** A guest as a script: `on` says which calls it makes when it has got these answers; null: it ends. */
interface Scripted {
  readonly first: readonly string[];
  on(got: readonly string[]): readonly string[] | null;
}

const call = (name: string): PendingCall => ({ id: `x.${name}`, name: "later", args: [name] });
const image = (id: string): Checkpoint => ({
  ...{ delta: { id, base: null, pages: [], meta: Object.create(null) }, answers: [], waiting: [], ms: 0 },
  isSpent: false,
});
const settled = (name: string): Settlement => ({ ok: true, value: name });
const answered = (settlement: Settlement): Answered => ({ settlement, record: FREE, cacheKey: null });

interface Knobs {
  /** What a commit waits for. */
  step(calls: readonly PendingCall[]): Promise<void>;
  run(id: string): Promise<void>;
  result(id: string): Promise<void>;
  /** Answers come when their call is sent. */
  atOnce: boolean;
}

/** One line for each thing that the loop does, in its order. */
function scene({ first, on }: Scripted) {
  const log: string[] = [];
  onTestFailed(() => console.log(["the loop did:", ...log].join("\n  ")));
  const got: string[] = [];
  const held = new Map<string, () => void>();
  const timers: { readonly ms: number; run(): void }[] = [];
  const state: ExecState = newState();
  let dead: string | undefined;
  let images = 0;
  const over = (lost: string | null): Slice => ({
    ...{ kind: "over", end: { kind: lost ? "cancelled" : "ok", result: "1", meta: null }, state, lost, whole: null },
    asides: [],
  });
  const slice = (made: readonly string[] | null, wanted: { id: string } | null): Slice => {
    if (dead) return over(dead);
    if (!made) return over(null);
    const taken = wanted && made.length > 0 ? image(wanted.id) : null;
    return { kind: "waiting", calls: made.map(call), state, image: taken };
  };
  const machine: LoopMachine = {
    async start(_input, wanted, { suspend } = {}) {
      log.push(`start ${wanted?.id ?? "-"}`);
      suspend?.addEventListener("abort", () => {
        dead = "suspended";
      });
      return slice(first, wanted);
    },
    async resume({ waiting }) {
      log.push("resume");
      return { kind: "waiting", calls: waiting, state, image: null };
    },
    async settle(answers: readonly Answer[], _facts, wanted) {
      got.push(...answers.map(({ id }) => id.slice(2)));
      log.push(`settle ${answers.map(({ id }) => id).join("+")} ${wanted?.id ?? "-"}`);
      return slice(on(got), wanted);
    },
    async stop() {
      log.push("stop");
      return dead ? over(dead) : { ...over(null), end: { kind: "cancelled" } };
    },
    async end(why) {
      log.push("end");
      dead = why;
    },
  };
  const recorded = new Set<string>();
  const parts: LoopParts & Knobs = {
    machine,
    journal: {
      nextImage: () => ({ id: `i${++images}`, base: null, kind: "step", commands: [] }),
      async keepStep({ calls, image: taken }) {
        const made = calls.filter(({ id }) => !recorded.has(id));
        if (made.length === 0) return;
        log.push(`keep ${made.map(({ id }) => id).join("+")} ${taken?.delta.id ?? "asked"}`);
        await parts.step(made);
        for (const { id } of made) recorded.add(id);
        log.push("kept");
      },
      async keepSuspend({ still_running }) {
        log.push(`suspended ${still_running.join(" ")}`);
      },
      async keepRun(id) {
        await parts.run(id);
        log.push(`run ${id}`);
      },
      async keepResult({ id }, answered) {
        await parts.result(id);
        log.push(`${answered.settlement.ok ? "result" : "failed"} ${id}`);
      },
    },
    calls: {
      facts: () => null,
      callOffMs: () => undefined,
      answer({ id }, signal) {
        log.push(`send ${id}`);
        return new Promise((resolve) => {
          const cancelled = { name: "Error", code: "cancelled", message: "", suggestion: "" };
          const give = () => resolve(answered(settled(id)));
          if (parts.atOnce) return give();
          held.set(id.slice(2), give);
          signal.addEventListener("abort", () => resolve(answered({ ok: false, error: cancelled })));
        });
      },
    },
    once: { waitMs: (running) => running.length * 10_000, left: () => [] },
    clock: {
      now: () => 0,
      monotonic: () => 0,
      after: (ms: number, run: () => void) => {
        timers.push({ ms, run });
        return () => {};
      },
    },
    suspension: openSuspension(),
    async step() {},
    async run() {},
    async result() {},
    atOnce: false,
  };
  return {
    log,
    parts,
    recorded,
    /** What the loop waits for by the clock. */
    timers,
    /** The answer to a call comes. */
    async answer(name: string) {
      held.get(name)?.();
      for (let i = 0; i < 3; i++) await setImmediate();
    },
  };
}

const start = (replay: readonly Replayed[] = []): Beginning => ({
  kind: "start",
  input: { source: "", state: newState(), facts: null },
  replay,
});
const record = (name: string): Replayed => ({ ...call(name), settlement: settled(name) });
const ticks = async () => {
  for (let i = 0; i < 5; i++) await setImmediate();
};
const never = () => new Promise<void>(() => {});

test("a step is kept before its calls are sent, an answer before the guest gets it", async () => {
  const { parts, log } = scene({ first: ["1"], on: (got) => (got.length === 1 ? ["2"] : null) });
  parts.atOnce = true;
  expect(await runLoop(parts, start())).toMatchObject({ end: { kind: "ok" }, lost: null });
  expect(log).toEqual([
    ...["start i1", "keep x.1 i1", "kept", "send x.1", "result x.1"],
    ...["settle x.1 i2", "keep x.2 i2", "kept", "send x.2", "result x.2", "settle x.2 i3"],
  ]);
});

test("an image that comes late is kept once no answer has come in time, and before the guest gets one", async () => {
  const { parts, log, timers, answer } = scene({ first: ["1"], on: (got) => (got.length === 1 ? ["2"] : null) });
  parts.journal.keepLateImage = async () => void log.push("late image");
  const done = runLoop(parts, start());
  await ticks();
  await answer("1");
  expect(log.slice(-2)).toEqual(["kept", "send x.2"]);
  expect(log).not.toContain("late image");
  timers.at(-1)?.run();
  await ticks();
  expect(log.at(-1)).toBe("late image");
  await answer("2");
  await done;
  expect(log.slice(-3)).toEqual(["late image", "result x.2", "settle x.2 i3"]);
});

test("cancelled before an image that comes late: none is taken", async () => {
  const { parts, log } = scene({ first: ["1"], on: () => null });
  parts.journal.keepLateImage = async () => void log.push("late image");
  const cancel = new AbortController();
  const done = runLoop(parts, start(), { signal: cancel.signal });
  await ticks();
  cancel.abort();
  expect(await done).toMatchObject({ end: { kind: "cancelled" }, lost: null });
  expect(log).not.toContain("late image");
});

test("answers that come while the step of later calls is being kept are recorded at once and given together after", async () => {
  const { parts, log, answer } = scene({ first: ["1", "2"], on: (got) => (got.length === 1 ? ["3"] : null) });
  let release = () => {};
  parts.step = ([made]) => (made?.id === "x.3" ? new Promise((resolve) => (release = resolve)) : Promise.resolve());
  const done = runLoop(parts, start());
  await ticks();
  await answer("1");
  await answer("2");
  expect(log.slice(-3)).toEqual(["settle x.1 i2", "keep x.3 i2", "result x.2"]);
  release();
  await done;
  expect(log.slice(-4)).toEqual(["kept", "send x.3", "settle x.2 i3", "failed x.3"]);
});

test("cancelled while a commit is under way: the commit is waited for, nothing is sent", async () => {
  const { parts, log } = scene({ first: ["1"], on: () => null });
  let release = () => {};
  parts.step = () => new Promise((resolve) => (release = resolve));
  const cancel = new AbortController();
  const done = runLoop(parts, start(), { signal: cancel.signal });
  await ticks();
  cancel.abort();
  await ticks();
  expect(log.at(-1)).toBe("keep x.1 i1");
  release();
  expect(await done).toMatchObject({ end: { kind: "cancelled" }, lost: null });
  expect(log.slice(-2)).toEqual(["kept", "stop"]);
});

test("suspended while a commit is under way: nobody waits for it, nothing is sent or kept from then on", async () => {
  const { parts, log } = scene({ first: ["1"], on: () => null });
  parts.step = never;
  const suspend = new AbortController();
  const done = runLoop(parts, start(), { suspend: suspend.signal });
  await ticks();
  suspend.abort();
  expect(await done).toMatchObject({ end: { kind: "cancelled" }, lost: "suspended" });
  expect(log.slice(-2)).toEqual(["keep x.1 i1", "stop"]);
});

test("a step that cannot be kept: nothing is sent, what was out is called off, and the exec says why", async () => {
  const { parts, log, answer } = scene({ first: ["1", "2"], on: () => ["3"] });
  parts.step = async ([made]) => {
    if (made?.id === "x.3") throw new Error("disk full");
  };
  const done = runLoop(parts, start());
  await ticks();
  await answer("1");
  expect(await done).toMatchObject({ end: { code: "checkpoint_failed" }, lost: null });
  expect(log).not.toContain("send x.3");
  expect(log.filter((line) => !line.startsWith("failed")).at(-1)).toBe("stop");
  expect(log).toContain("failed x.2");
});

test("an answer that cannot be kept is not given", async () => {
  const { parts, log, answer } = scene({ first: ["1"], on: () => null });
  parts.result = () => Promise.reject(new Error("disk full"));
  const done = runLoop(parts, start());
  await ticks();
  await answer("1");
  expect(await done).toMatchObject({ end: { code: "checkpoint_failed" } });
  expect(log.at(-1)).toBe("stop");
});

test("recorded answers are given one by one; no image is taken before the last, no recorded call is kept again", async () => {
  const { parts, log, answer, recorded } = scene({
    first: ["1", "2"],
    on: (got) => (got.length === 1 ? ["3"] : got.length === 2 ? [] : null),
  });
  for (const name of ["1", "2"]) recorded.add(`x.${name}`);
  const done = runLoop(parts, start([record("2"), record("1")]));
  await ticks();
  expect(log).toEqual(["start -", "settle x.2 -", "settle x.1 i1", "keep x.3 asked", "kept", "send x.3"]);
  await answer("3");
  expect(await done).toMatchObject({ end: { kind: "ok" } });
});

test("what waits in an image is sent by number, and only what has no record is kept", async () => {
  const { parts, log, recorded } = scene({ first: [], on: (got) => (got.length === 1 ? ["10", "3"] : null) });
  for (const name of ["1", "2"]) recorded.add(`x.${name}`);
  const input = { source: "", state: newState(), facts: null, waiting: [call("2"), call("1")] };
  const done = runLoop(parts, { kind: "resume", input, replay: [record("1")] });
  await ticks();
  expect(log).toEqual(["resume", "settle x.1 i1", "keep x.3+x.10 i1", "kept", "send x.2", "send x.3", "send x.10"]);
  parts.machine.stop();
  void done;
});

test("cancelled while records are given: it stops, and sends nothing", async () => {
  const { parts, log } = scene({ first: ["1", "2"], on: () => [] });
  const cancel = new AbortController();
  const settle = parts.machine.settle;
  parts.machine.settle = (...input) => {
    cancel.abort();
    return settle(...input);
  };
  const done = await runLoop(parts, start([record("1"), record("2")]), { signal: cancel.signal });
  expect(done.end.kind).toBe("cancelled");
  expect(log).toEqual(["start -", "settle x.1 -", "stop"]);
});

test("calls that were not awaited are called off and recorded before the exec's end is", async () => {
  const { parts, log, answer } = scene({ first: ["1", "2"], on: () => null });
  const done = runLoop(parts, start());
  await ticks();
  await answer("1");
  await done;
  expect(log.slice(-2)).toEqual(["settle x.1 i2", "failed x.2"]);
});

test("a call that does not end when it is aborted is not waited for, and its answer is not kept", async () => {
  const { parts, log, timers } = scene({ first: ["1"], on: () => null });
  let late = (_: Answered) => {};
  parts.calls.answer = () => new Promise((resolve) => (late = resolve));
  const cancel = new AbortController();
  const done = runLoop(parts, start(), { signal: cancel.signal });
  await ticks();
  cancel.abort();
  await ticks();
  expect(timers.map(({ ms }) => ms)).toEqual([1000]);
  timers[0]?.run();
  expect((await done).end.kind).toBe("cancelled");
  late(answered(settled("1")));
  await ticks();
  expect(log.at(-1)).toBe("stop");
});

test("what comes of a call when the exec is suspended is not kept: another process sends it again", async () => {
  const { parts, log } = scene({ first: ["1"], on: () => null });
  const suspend = new AbortController();
  const done = runLoop(parts, start(), { suspend: suspend.signal });
  await ticks();
  suspend.abort();
  expect(await done).toMatchObject({ lost: "suspended" });
  await ticks();
  expect(log.slice(-2)).toEqual(["send x.1", "stop"]);
});

/** Two calls, the first of which has begun what must not run twice when the exec is suspended. */
async function suspended() {
  const made = scene({ first: ["1", "2"], on: () => null });
  const { parts, answer } = made;
  const send = parts.calls.answer;
  const never = new AbortController().signal;
  let given: AbortSignal = never;
  parts.calls.answer = (call, signal, hold) => {
    if (call.id !== "x.1") return send(call, signal, hold);
    return hold().then((held) => {
      given = held;
      return send(call, held, hold);
    });
  };
  parts.once.left = (held) => [...held];
  const [cancel, suspend] = [new AbortController(), new AbortController()];
  const done = runLoop(parts, start(), { signal: cancel.signal, suspend: suspend.signal });
  await ticks();
  suspend.abort();
  await ticks();
  return { ...made, answer, cancel, done, signal: given };
}

test("a suspension waits for what must not run twice, keeps its answer, and then what is left", async () => {
  const { answer, done, log, signal, timers } = await suspended();
  expect([signal.aborted, timers.map(({ ms }) => ms)]).toEqual([false, [10_000]]);
  await answer("1");
  expect(await done).toMatchObject({ lost: "suspended" });
  expect(log.slice(-3)).toEqual(["stop", "result x.1", "suspended x.1"]);
  expect(log.indexOf("run x.1")).toBeLessThan(log.indexOf("send x.1"));
});

test.each(["its time", "a cancel"])("%s ends the wait of a suspension, and the run gets no record", async (what) => {
  const { cancel, done, log, signal, timers } = await suspended();
  if (what === "its time") timers[0]?.run();
  else cancel.abort();
  expect(await done).toMatchObject({ lost: "suspended" });
  expect(signal.aborted).toBe(true);
  expect(log.slice(-2)).toEqual(["stop", "suspended x.1"]);
});

test("an answer that cannot be kept ends the slice that runs meanwhile", async () => {
  const { parts, answer } = scene({ first: ["1", "2"], on: () => null });
  const { settle, start: begin } = parts.machine;
  let cancel: AbortSignal | undefined;
  parts.machine.start = (input, wanted, signals) => {
    cancel = signals?.signal;
    return begin(input, wanted, signals);
  };
  parts.machine.settle = async (...input) => {
    await new Promise<void>((resolve) => cancel?.addEventListener("abort", () => resolve()));
    return settle(...input);
  };
  parts.result = async (id) => {
    if (id === "x.2") throw new Error("disk full");
  };
  const done = runLoop(parts, start());
  await ticks();
  await answer("1");
  await answer("2");
  expect(await done).toMatchObject({ end: { code: "checkpoint_failed" } });
});

test("facts are those of the moment in which an answer is given", async () => {
  const { parts, answer } = scene({ first: ["1"], on: (got) => (got.length === 1 ? ["2"] : null) });
  const { settle } = parts.machine;
  const given: unknown[] = [];
  let asked = 0;
  parts.calls.facts = () => ++asked;
  parts.machine.settle = (answers, facts, wanted) => {
    given.push(facts);
    return settle(answers, facts, wanted);
  };
  const done = runLoop(parts, start());
  await ticks();
  await answer("1");
  await answer("2");
  await done;
  expect(given).toEqual([1, 2]);
});

test.each([
  [{ name: "fails" }, "call x.1 is later, recorded was fails"],
  [{ args: ["other"] }, "the arguments of call x.1 (later) are not those that were recorded"],
  [{ id: "x.9" }, "the cell did not make the recorded call x.9 (later)"],
])("a record of another call (%j) ends the machine", async (change, why) => {
  const { parts, log } = scene({ first: ["1"], on: () => null });
  const done = await runLoop(parts, start([{ ...record("1"), ...change }]));
  expect(done).toMatchObject({ end: { code: "checkpoint_lost" }, lost: why });
  expect(done.end).toMatchObject({ error: { message: expect.stringContaining(why) } });
  expect(log).toEqual(["start -", "end"]);
});

test("an exec that is over leaves no listener on the caller's signals", async () => {
  const { parts } = scene({ first: ["1"], on: (got) => (got.length === 1 ? ["2"] : null) });
  parts.atOnce = true;
  const [stop, suspend] = [new AbortController(), new AbortController()];
  await runLoop(parts, start(), { signal: stop.signal, suspend: suspend.signal });
  expect(getEventListeners(stop.signal, "abort")).toEqual([]);
  // The scripted machine listens to it as long as it lives.
  expect(getEventListeners(suspend.signal, "abort")).toHaveLength(1);
});
