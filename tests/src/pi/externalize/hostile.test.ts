import fc from "fast-check";
import { expect, test } from "vitest";
import { applyOutside } from "../../../../src/pi/externalize/apply.ts";
import { readOutside } from "../../../../src/pi/externalize/branch.ts";
import { keyOf } from "../../../../src/pi/externalize/keys.ts";
import type { PiMessage } from "../../../../src/pi/externalize/message.ts";
import { called, filler, orphansIn, readTurns, said, type Talk, talk } from "../../../support/pi/conversation.ts";
import { following, stubsIn, WISH } from "../../../support/pi/following.ts";

// What a file, a provider, or whoever wrote a session's file may do to the rules.

const FACTS = { v: 1, cause: "threshold", min: 1, manifest: 500, preview: 40, window: 1, before: 1, after: 1 } as const;

function forge(self: Talk, data: unknown): void {
  self.branch.push({ type: "custom", customType: "rlm_externalize", id: `e${self.branch.length}`, data });
}

/** Reads, of which nothing went out yet, too large for a window of 8,000 tokens. */
function largeTalk(): Talk {
  const self = talk({ window: 1_000_000 });
  readTurns(self, 14);
  return self;
}

const entriesIn = ({ branch }: Talk) => branch.flatMap(({ customType, data }) => (customType ? [data] : []));

test("an epoch of the largest number that there is does not keep others from coming", () => {
  for (const epoch of [Number.MAX_SAFE_INTEGER, 1_000_000_000]) {
    const self = largeTalk();
    forge(self, { ...FACTS, epoch, objects: 1 });
    self.user("next");
    const { outside } = following(self);
    expect(stubsIn(outside.sent(self.messages()))).toBeGreaterThan(5);
    const written = self.branch.length;
    expect(stubsIn(outside.sent(self.messages()))).toBeGreaterThan(5);
    expect(self.branch).toHaveLength(written);
  }
});

const NO_COUNTS = [1e300, 1e16, Number.POSITIVE_INFINITY, Number.NaN, -5, "7000", null];

test.for(NO_COUNTS)("a provider that counts %s tokens has counted none", (totalTokens) => {
  const entriesWith = (usage: unknown) => {
    const self = largeTalk();
    self.push({ role: "assistant", content: [said("ok")], stopReason: "stop", usage });
    self.user("next");
    following(self).outside.sent(self.messages());
    return entriesIn(self);
  };
  expect(entriesWith({ totalTokens })).toEqual(entriesWith(undefined));
  expect(entriesWith({ totalTokens })).toHaveLength(1);
});

test.for([0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY])("nothing goes out for a window of %s", (window) => {
  const self = largeTalk();
  self.user("next");
  const { outside } = following(self, { window });
  expect(outside.sent(self.messages())).toEqual(self.messages());
  expect(outside.compacts(WISH)).toEqual({});
  expect(outside.asked.externalize()).toEqual({ is: "no_model" });
});

test("a window that is no whole number is one", () => {
  const self = largeTalk();
  self.user("next");
  const { outside } = following(self, { window: 8000.5 });
  expect(stubsIn(outside.sent(self.messages()))).toBeGreaterThan(5);
  expect(entriesIn(self)).toMatchObject([{ window: 8000 }]);
});

/** Messages that a session's file may have, and no Pi writes. */
const MALFORMED: readonly object[] = [
  { role: "bashExecution", command: "ls", output: 5, timestamp: 1 },
  { role: "branchSummary", summary: { toString: 7 } },
  { role: "custom", customType: { toString: 1 }, content: filler("custom", 2000) },
  { role: "user", timestamp: "now", content: 8 },
  { role: "toolResult", toolCallId: 5, content: null },
  { role: 5 },
];

test("messages with fields of other types are sent as they are, and the others go out", () => {
  const self = largeTalk();
  for (const message of MALFORMED) self.branch.unshift({ type: "message", id: "m", message });
  self.branch.push({ type: "branch_summary", id: "s", summary: { toString: 7 } });
  self.user("next");
  const { outside, told } = following(self);
  const malformed = MALFORMED.map((message) => Object.assign({ role: "" }, message));
  const sent = outside.sent([...malformed, ...self.messages()]);
  expect(sent.slice(0, MALFORMED.length)).toEqual(MALFORMED);
  expect(told).toEqual([]);
  expect(stubsIn(sent)).toBeGreaterThan(5);
  self.branch.push({ type: "compaction", id: "c", summary: { toString: 7 }, firstKeptEntryId: "e4" });
  expect(outside.compacts(WISH).compaction?.summary).toMatch(/^\[RLM folded: 2 earlier turns/);
  expect(told).toEqual([]);
});

test("ids of calls that are longer than an entry stay, with their turns, and entries keep to 2 KB", () => {
  const self = talk();
  self.user("go");
  const [long, exact] = ["é".repeat(1000), "x".repeat(1400)];
  self.answer(called(long), called(exact));
  for (const id of [long, exact]) self.result(id, filler("result", 20_000));
  const { sent } = self.request();
  expect(sent.slice(-2).map((message) => stubsIn([message]))).toEqual([0, 1]);
  readTurns(self, 60, 2500);
  self.request();
  for (const data of entriesIn(self)) expect(JSON.stringify(data).length).toBeLessThanOrEqual(2048);
  const last = self.request().sent;
  expect(last.filter((message) => "toolCallId" in message && message.toolCallId === long)).toHaveLength(1);
  expect(orphansIn(last)).toEqual([]);
});

test("entries name whatever they like: calls and results stay together, and nothing is made up", () => {
  let outside = 0;
  fc.assert(
    fc.property(fc.array(forged, { maxLength: 5 }), fc.nat(24), (wishes, cut) => {
      const self = talk({ window: 1_000_000 });
      readTurns(self, 6, 1000);
      const messages = self.messages();
      const keys = [...messages.map((message) => keyOf(message) ?? ""), "user:1", "toolResult:none", "nothing"];
      const named = (n: number) => keys[n % keys.length] ?? "";
      for (const { through, fold, keep, results, ...numbers } of wishes) {
        const lists = { keep: keep.map(named), results: results.map(named) };
        forge(self, { ...FACTS, ...numbers, ...lists, through: named(through), fold: named(fold), objects: 1 });
      }
      const state = readOutside(self.branch);
      const send = (part: readonly PiMessage[]) => applyOutside(part, state, self.ids);
      const sent = send(messages);
      outside += stubsIn(sent);
      expect(send(self.messages())).toEqual(sent);
      expect(send(sent)).toEqual(sent);
      expect(orphansIn(sent)).toEqual([]);
      const texts = new Set(messages.map((message) => JSON.stringify(message)));
      for (const message of sent) {
        const isOurs = /\[RLM (externalized|folded): /.test(JSON.stringify(message));
        expect(isOurs || texts.has(JSON.stringify(message))).toBe(true);
      }
      // What was folded is at the beginning, so that the rest of a conversation goes on from its part.
      const part = send(messages.slice(0, cut));
      if (!JSON.stringify(sent).includes("[RLM folded: ")) expect(sent.slice(0, part.length)).toEqual(part);
    }),
    { numRuns: 30, seed: 3 },
  );
  expect(outside).toBeGreaterThan(30);
});

const place = fc.nat(26);
const forged = fc.record({
  ...{ epoch: fc.nat(3), min: fc.constantFrom(0, 200, 200, 2000), manifest: fc.constantFrom(0, 500) },
  ...{ preview: fc.constantFrom(0, 40, 1_000_000), through: place },
  // Mostly the key that no message has.
  fold: fc.oneof({ weight: 3, arbitrary: fc.constant(26) }, { weight: 1, arbitrary: place }),
  keep: fc.array(place, { maxLength: 4 }),
  results: fc.array(place, { maxLength: 4 }),
});

test("entries that are none are passed over, told once, and cost nothing more", () => {
  const self = largeTalk();
  const huge = Array.from({ length: 20_000 }, (_, n) => `toolResult:call_${n}_of_another_session`);
  const broken: readonly unknown[] = [
    { ...FACTS, epoch: 1, objects: Number.NaN },
    { ...FACTS, epoch: -1, objects: 1 },
    { ...FACTS, epoch: 1, objects: 1, keep: "user:1" },
    { ...FACTS, epoch: 1, objects: 1, through: 7 },
    { ...FACTS, epoch: 1, objects: 1, v: 9, keep: huge },
    { v: 1, off: "yes" },
    [],
    null,
    "off",
  ];
  for (const data of broken) forge(self, data);
  forge(self, { ...FACTS, epoch: 1, objects: 1, keep: huge, results: huge });
  self.user("next");
  const { outside, told } = following(self);
  expect(stubsIn(outside.sent(self.messages()))).toBeGreaterThan(5);
  outside.sent(self.messages());
  expect(told).toEqual([expect.stringContaining("another version of Belay")]);
});

test("the last prompt is no result: an entry that names it as one does not hide it", () => {
  const self = largeTalk();
  const prompt = self.user(filler("the prompt", 3000));
  forge(self, { ...FACTS, epoch: 1, objects: 1, results: [keyOf(prompt)] });
  expect(following(self, { window: 1_000_000 }).outside.sent(self.messages()).at(-1)).toEqual(prompt);
});

test("thousands of tiny messages are folded, and lines by the million are counted", () => {
  const self = talk();
  for (let n = 0; n < 1000; n++) {
    self.user(`prompt ${n}`);
    self.answer(said(`answer ${n}`));
  }
  self.user("next");
  const { outside } = following(self);
  expect(JSON.stringify(outside.sent(self.messages())).length).toBeLessThan(9000);
  const large = talk();
  large.user("go");
  large.answer(called("a", "bash", { command: "yes ''" }));
  large.result("a", "\n".repeat(5_000_000), "bash");
  large.answer(said("many"));
  large.user("next");
  expect(JSON.stringify(large.request().sent)).toContain("bash yes '' — 5000000 lines]");
});

test("an epoch of thousands of entries costs what they hold, and keeps the texts that each of them names", () => {
  const self = largeTalk();
  const keys = self.messages().flatMap((message) => (message.role === "toolResult" ? [keyOf(message)] : []));
  const through = keyOf(self.user("asked"));
  for (let n = 0; n < 3000; n++) {
    const others = Array.from({ length: 40 }, (_, k) => `toolResult:other_${n}_${k}`);
    forge(self, { ...FACTS, epoch: 1, objects: 1, through, keep: [...others, keys[n % keys.length]] });
  }
  const outside = readOutside(self.branch);
  expect(keys.map((key) => outside.stubBounds(String(key), 0))).toEqual(keys.map(() => []));
  expect(outside.stubBounds(String(through), 0)).toEqual([{ min: 1, preview: null }]);
});

test("a call whose arguments are nested more deeply than can be compared goes on with its conversation", () => {
  const self = largeTalk();
  let path: unknown = "deep.txt";
  for (let depth = 0; depth < 2800; depth++) path = [path];
  self.answer(called("deep", "read", { path }));
  self.result("deep", filler("deep", 3000));
  self.user("next");
  const { outside, told } = following(self);
  expect(stubsIn(outside.sent(self.messages()))).toBeGreaterThan(5);
  expect(told).toEqual([]);
});
