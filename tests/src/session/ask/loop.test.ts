import { expect, onTestFailed, test } from "vitest";
import type { Model, ModelAnswer, ModelTurn } from "../../../../src/models/index.ts";
import { openSessionWith, type Session } from "../../../../src/session/index.ts";
import { readRecord } from "../../../../src/session/journal/records.ts";
import { openStore } from "../../../../src/store/index.ts";
import { USAGE } from "../../../support/scripted-session.ts";
import { storeAround } from "../../../support/store-around.ts";

/** A line of the log at which the test does something, before the line's work is done. */
type At = Readonly<Record<string, () => void>>;

const says = (part: Partial<ModelTurn>): ModelAnswer => ({
  ...{ ok: true, turn: { text: "", toolUses: [], stop: "end", raw: null, ...part }, usage: USAGE, charged: true },
});
const runs = (code: string) => says({ stop: "tools", toolUses: [{ id: "u", name: "rlm_exec", arguments: { code } }] });
const fails = (code: "auth_failed" | "cancelled"): ModelAnswer => ({
  error: { code, message: `it was ${code}`, suggestion: "", retriable: false },
  ...{ ok: false, usage: USAGE, charged: false },
});

/**
 * A session whose store and root model write a log, a line for each commit of an ask and each request. The model looks in
 * its first turn and answers in its second.
 * @param failures requests that the provider refuses first
 */
async function scene(at: At = {}, failures = 0) {
  const log: string[] = [];
  onTestFailed(() => console.log(["the ask did:", ...log].join("\n  ")));
  const store = await openStore(null);
  const kinds = new Map<string, string>();
  const line = (text: string) => {
    log.push(text);
    at[text]?.();
  };
  const logged = storeAround(store, async (_name, run) => run());
  const commit: typeof store.commit = async (session, step) => {
    const records = (step.records ?? []).map((record) => readRecord(record));
    for (const one of records) if (one.record === "rlm_start") kinds.set(one.exec_id, one.kind);
    const words = records.map((one) => `${one.record.slice(4)} ${kinds.get(one.exec_id)}`);
    if (words.length > 0) line(`keep ${words.join(" + ")}`);
    const kept = await store.commit(session, step);
    if (words.length > 0) line(`kept ${words.join(" + ")}`);
    return kept;
  };
  let sent = 0;
  const model: Model = {
    id: "test/root",
    price: { input: 1, output: 2 },
    window: null,
    async complete({ messages }, signal) {
      line(`send ${++sent}`);
      if (signal.aborted) return fails("cancelled");
      if (sent <= failures) return fails("auth_failed");
      const turn = messages.filter(({ role }) => role === "assistant").length;
      return turn === 0 ? runs("print(P.length)") : says({ text: "It is 4." });
    },
  };
  const models = { fallback: model.id, resolve: () => model, price: () => model.price };
  /** What a process of its own does with the session. */
  const opened = async <T>(use: (session: Session) => Promise<T>): Promise<T> => {
    const session = await openSessionWith(
      { session: "s", store: "-" },
      { store: { ...logged, commit, [Symbol.asyncDispose]: async () => {} }, models, random: () => 0 },
    );
    try {
      return await use(session);
    } finally {
      await session.close();
    }
  };
  await opened((session) => session.load({ text: "four", name: "notes" }));
  log.length = 0;
  return { log, opened, sent: () => sent };
}

const TURN = [
  "keep start turn + tool_call turn",
  "kept start turn + tool_call turn",
  "send",
  "keep tool_result turn + complete turn",
  "kept tool_result turn + complete turn",
];
const CELL = ["keep start cell", "kept start cell", "keep complete cell", "kept complete cell"];
const START = ["keep start ask", "kept start ask"];
const END = ["keep complete ask", "kept complete ask"];
const RESUME = ["keep resume ask", "kept resume ask"];
/** The log without the numbers of requests. */
const plain = (log: readonly string[]) => log.map((line) => line.replace(/^send \d+$/, "send"));

test("a turn is kept before it is sent, its reply before its cell runs, and the end after all of it", async () => {
  const { log, opened } = await scene();
  expect(await opened((session) => session.ask("How long?"))).toMatchObject({ success: true, answer: "It is 4." });
  expect(plain(log)).toEqual([...START, ...TURN, ...CELL, ...TURN, ...END]);
});

test.each([
  "kept start ask",
  "keep start turn + tool_call turn",
  "kept start turn + tool_call turn",
  "send 1",
  "keep tool_result turn + complete turn",
  "kept tool_result turn + complete turn",
  "keep start cell",
  "kept start cell",
  "keep complete cell",
  "kept complete cell",
  "send 2",
])("an ask that is suspended at `%s` ends nothing, and the next process asks for no recorded reply", async (line) => {
  const suspending = new AbortController();
  const { log, opened, sent } = await scene({ [line]: () => suspending.abort() });
  const suspended = await opened((session) => session.ask("How long?", { suspend: suspending.signal }));
  expect(suspended).toMatchObject({ success: false, resumable: true });
  expect(log).not.toContain("keep complete ask");
  const [before, replies] = [log.length, log.filter((one) => one.startsWith("kept tool_result turn")).length];
  const resumed = await opened((session) => session.resume());
  expect(resumed).toMatchObject({ kind: "ask", envelope: { success: true, resumed: 1, replayed_turns: replies } });
  const after = plain(log.slice(before));
  expect(after.slice(0, 2)).toEqual(RESUME);
  expect(after.slice(-2)).toEqual(END);
  expect(sent()).toBeLessThanOrEqual(3);
});

test.each([
  "kept start ask",
  "send 1",
  "kept tool_result turn + complete turn",
  "keep start cell",
  "kept start cell",
  "kept complete cell",
  "send 2",
])("an ask that is cancelled at `%s` is over, and its end is the last record", async (line) => {
  const cancelling = new AbortController();
  const { log, opened } = await scene({ [line]: () => cancelling.abort() });
  const ended = await opened((session) => session.ask("How long?", { signal: cancelling.signal }));
  expect(ended).toMatchObject({ success: false, error_code: "cancelled" });
  expect(ended).not.toHaveProperty("resumable");
  expect(log.slice(-2)).toEqual(END);
  expect(await opened(async (session) => session.unfinished())).toBeNull();
});

test("a provider that fails pauses the ask once; the process that goes on sends the turn again, and pauses anew", async () => {
  const { log, opened } = await scene({}, 2);
  const paused = { success: false, resumable: true, error_code: "auth_failed" };
  expect(await opened((session) => session.ask("How long?"))).toMatchObject(paused);
  expect(plain(log)).toEqual([...START, ...TURN]);
  const refused = await opened((session) => Promise.allSettled([session.exec("1"), session.ask("Else?")]));
  expect(refused).toMatchObject(
    Array(2).fill({ reason: { code: "exec_unfinished", message: expect.stringMatching(/^an ask of session /) } }),
  );
  expect(await opened((session) => session.resume())).toMatchObject({ envelope: paused });
  expect(plain(log)).toEqual([...START, ...TURN, ...RESUME, ...TURN]);
  const answered = { envelope: { success: true, turns: 4, resumed: 2, replayed_turns: 0 } };
  expect(await opened((session) => session.resume())).toMatchObject(answered);
  expect(plain(log)).toEqual([...START, ...TURN, ...RESUME, ...TURN, ...RESUME, ...TURN, ...CELL, ...TURN, ...END]);
});

test("an ask that is discarded with a turn out gives the turn up before its own end", async () => {
  const suspending = new AbortController();
  const { log, opened, sent } = await scene({ "send 1": () => suspending.abort() });
  await opened((session) => session.ask("How long?", { suspend: suspending.signal }));
  const before = log.length;
  await opened((session) => session.discard());
  const given = log.slice(before).filter((line) => line.startsWith("keep"));
  expect(given.map((line) => line.split(" ").slice(-2).join(" "))).toEqual(["complete turn", "complete ask"]);
  expect(sent()).toBe(1);
});

test("a failed commit of a reply leaves the turn open, and it is sent once more", async () => {
  let isBroken = true;
  const { log, opened, sent } = await scene({
    "keep tool_result turn + complete turn": () => {
      if (isBroken) throw new Error("the disk is full");
    },
  });
  await expect(opened((session) => session.ask("How long?"))).rejects.toThrow("the disk is full");
  isBroken = false;
  expect(log.at(-1)).toBe("keep tool_result turn + complete turn");
  expect(await opened((session) => session.resume())).toMatchObject({
    envelope: { success: true, answer: "It is 4." },
  });
  expect(sent()).toBe(3);
});
