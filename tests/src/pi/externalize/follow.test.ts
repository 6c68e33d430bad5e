import { expect, test } from "vitest";
import { tokensIn } from "../../../../src/pi/externalize/keys.ts";
import { estimate } from "../../../../src/pi/externalize/size.ts";
import { filler, readTurns, said, type Talk, talk } from "../../../support/pi/conversation.ts";
import { following, OFF, stubsIn, WISH } from "../../../support/pi/following.ts";

/** A conversation of which nothing went out yet, too large for the window. */
function largeTalk(turns = 14): Talk {
  const self = talk({ window: 1_000_000 });
  readTurns(self, turns);
  self.user("and now?");
  return self;
}

test("the entry is written before its stubs are sent, once, and another process sends the same", () => {
  const self = largeTalk();
  const { outside } = following(self);
  const sent = outside.sent(self.messages());
  expect(stubsIn(sent)).toBeGreaterThan(3);
  const written = self.branch.length;
  const other = following(self).outside;
  other.arrived("start");
  expect(other.sent(self.messages())).toEqual(sent);
  expect(self.branch).toHaveLength(written);
});

test("what Pi keeps free for an answer is read from its settings, and what it told of it holds in later processes", () => {
  const stubs = (self: Talk, reserve: number | null) =>
    stubsIn(following(self, { reserve, window: 20_000 }).outside.sent(self.messages()));
  // Of 20,000 tokens 16,384 are kept free if nobody says otherwise.
  expect([stubs(largeTalk(9), null) > 0, stubs(largeTalk(9), 1000)]).toEqual([true, 0]);
  const self = largeTalk(9);
  const { outside } = following(self, { reserve: null, window: 20_000, settings: { externalize: false } });
  outside.compacts({ ...WISH, reason: "threshold" });
  expect(self.branch.at(-1)).toMatchObject({
    customType: "rlm_reserve",
    data: { model: "mock/scripted", tokens: 1000 },
  });
  const written = self.branch.length;
  expect(stubs(self, null)).toBe(0);
  outside.compacts({ ...WISH, reason: "threshold" });
  expect(self.branch).toHaveLength(written);
});

test("a process that ends before the entry leaves the messages as they were", () => {
  const self = largeTalk();
  const raw = self.messages();
  following(self, {
    append() {
      throw new Error("the session is gone");
    },
  }).outside.sent(raw);
  const { outside } = following(self, { settings: { externalize: false } });
  expect(outside.sent(raw)).toEqual(raw);
});

test.for([
  [
    "an entry that cannot be written",
    {
      append: () => {
        throw new Error("gone");
      },
    },
  ],
  [
    "settings that cannot be read",
    {
      settings: Object.defineProperty({}, "externalize", {
        enumerable: true,
        get() {
          throw new Error("bad");
        },
      }),
    },
  ],
] as const)("%s: what was outside stays so, one notice, nothing more goes out until Pi starts again", ([, broken]) => {
  const self = largeTalk();
  const before = following(self).outside.sent(self.messages());
  self.answer(said("ok"));
  readTurns(self, 12, 3000, 50);
  self.user("more");
  const entries = self.branch.length;
  const { outside, told } = following(self, broken);
  const told0 = told.length;
  outside.arrived("start");
  for (const _ of [1, 2]) {
    const sent = outside.sent(self.messages());
    expect(sent.slice(0, before.length)).toEqual(before);
    expect(stubsIn(sent)).toBe(stubsIn(before));
  }
  expect(told.slice(told0)).toEqual([expect.stringMatching(/externalize_failed\): (gone|bad)/)]);
  expect(self.branch).toHaveLength(entries);
  // Compactions ask no model then.
  expect(outside.compacts(WISH).compaction?.details).toEqual({ rlm: 1 });
});

test("messages that make a rule throw are sent as they are", () => {
  const self = largeTalk();
  const { outside, told } = following(self);
  const hostile = {
    get role(): string {
      throw new Error("a trap");
    },
  };
  const messages = [hostile, ...self.messages()];
  expect([outside.sent(messages) === messages, outside.sent(messages) === messages]).toEqual([true, true]);
  expect(told).toEqual([expect.stringContaining("a trap")]);
});

test("settings can switch it off; what is outside stays so", () => {
  const self = largeTalk();
  const off = following(self, { settings: { externalize: false } }).outside;
  expect(off.sent(self.messages())).toEqual(self.messages());
  const sent = following(self).outside.sent(self.messages());
  expect(off.sent(self.messages())).toEqual(sent);
  expect(off.compacts(WISH).compaction).toBeDefined();
  expect(following(largeTalk(), { settings: { externalize: false } }).outside.compacts(WISH)).toEqual({});
});

test("switched off by a setting, a compaction is cancelled only if the request fits without another epoch", () => {
  const self = largeTalk();
  following(self).outside.sent(self.messages());
  const { outside } = following(self, { settings: { externalize: false } });
  const wish = { ...WISH, reason: "threshold" };
  expect(outside.compacts(wish)).toEqual({ cancel: true });
  self.answer(said("ok"));
  readTurns(self, 3, 9000, 50);
  self.user("more");
  expect(following(self).outside.compacts(wish)).toEqual({ cancel: true });
  expect(outside.compacts(wish).compaction?.details).toEqual({ rlm: 1 });
});

test("after /rlm off the messages are raw if they fit; if not, the stubs stay", () => {
  const small = talk({ window: 1_000_000 });
  readTurns(small, 6);
  small.user("next");
  small.rules = { ...small.rules, window: 8000 };
  expect(small.request().entries).toHaveLength(1);
  small.branch.push(OFF);
  const { outside } = following(small);
  expect(outside.sent(small.messages())).toEqual(small.messages());
  expect(outside.compacts(WISH)).toEqual({});
  const large = largeTalk();
  const before = following(large).outside.sent(large.messages());
  large.branch.push(OFF);
  expect(following(large).outside.sent(large.messages())).toEqual(before);
  large.branch.push({ ...OFF, data: { v: 1, off: false } });
  expect(following(large).outside.sent(large.messages())).toEqual(before);
});

test("compactions: a threshold that the next request keeps is cancelled, an overflow never is", () => {
  const self = largeTalk();
  const { outside } = following(self);
  expect(outside.compacts({ ...WISH, reason: "threshold" })).toEqual({ cancel: true });
  const { compaction } = outside.compacts({ ...WISH, reason: "overflow" });
  expect(compaction).toMatchObject({ firstKeptEntryId: "e8", tokensBefore: 7500, details: { rlm: 1 } });
  expect(compaction?.summary).toMatch(/^\[RLM folded: 2 earlier turns, 8 messages/);
  expect(compaction?.summary).toContain("prompt: What is in call_1?");
  self.user(filler("huge", 40_000));
  expect(outside.compacts({ ...WISH, reason: "threshold" }).compaction).toBeDefined();
  const pi = following(self, { settings: { compaction: "pi" } }).outside;
  expect(pi.compacts({ ...WISH, reason: "threshold" })).toEqual({});
  expect(pi.compacts(WISH)).toEqual({});
});

/** A request for a summary of so many characters, with the words around them that Pi adds. */
const summaryOf = (chars: number) => ({
  messages: [{ role: "user", content: [said(filler("prompt", Math.max(0, chars - 2026))), { type: "image" }] }],
  others: 0,
  answer: 800,
});

test.for([
  ["nothing is known of what the provider counts", 1.3, null],
  ["the provider counts more than that", 2, 2],
] as const)("compactions by hand are Pi's, unless a summary has no room for its answer: %s", ([, ratio, counted]) => {
  const self = largeTalk(3);
  const { outside, told } = following(self);
  if (counted) {
    const estimated =
      estimate(self.messages()) +
      tokensIn("You help.".length + '[{"name":"read","description":"Reads","parameters":{}}]'.length);
    const usage = { totalTokens: counted * (estimated + 1), input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
    const model = { provider: "mock", model: "scripted" };
    self.push({ role: "assistant", content: [said("ok")], stopReason: "stop", ...model, usage });
  }
  const by = (share: number, further: object = {}) => {
    const summary = { ...summaryOf(((share * 8000 - 800) / ratio) * 4), ...further };
    return outside.compacts({ ...WISH, reason: "manual", summaries: [summaryOf(2100), summary] }).compaction?.details;
  };
  expect([by(0.95), by(0.999), told]).toEqual([undefined, undefined, []]);
  expect([by(1.001), by(1.05)]).toEqual([{ rlm: 1 }, { rlm: 1 }]);
  expect(told[0]).toContain("too large for a model to summarize");
  // What else goes with it, a longer answer, and results as far as Pi sends them.
  expect([by(0.95, { others: 2500 }), by(0.95, { answer: 1300 })]).toEqual([{ rlm: 1 }, { rlm: 1 }]);
  const result = { role: "toolResult", toolCallId: "c", content: [said(filler("result", 9000))] };
  const results = (n: number) => by(0, { messages: Array.from({ length: n }, () => result) });
  const most = Math.floor((7200 / ratio - 500) / 519);
  expect([results(most), results(most + 1), by(2, { messages: [] })]).toEqual([undefined, { rlm: 1 }, undefined]);
});

test("compactions of Pi 0.73, which does not say why", () => {
  const self = largeTalk();
  const wish = { ...WISH, reason: undefined };
  const { outside } = following(self);
  expect(outside.compacts({ ...wish, tokensBefore: 7500 })).toEqual({ cancel: true });
  expect(outside.compacts({ ...wish, tokensBefore: 6500 })).toEqual({});
  expect(outside.compacts({ ...wish, tokensBefore: 9000 }).compaction).toBeDefined();
  // Another model, with a larger window, has given the last answer.
  self.push({ role: "assistant", content: [said("ok")], stopReason: "stop", provider: "mock", model: "large" });
  expect(outside.compacts({ ...wish, tokensBefore: 9000 })).toEqual({ cancel: true });
  self.push({ role: "assistant", content: [], stopReason: "error" });
  expect(outside.compacts({ ...wish, tokensBefore: 6500 }).compaction).toBeDefined();
});

test("our compaction keeps the last summary that a model wrote in front, and takes its own no second time", () => {
  const self = largeTalk();
  const { outside } = following(self);
  const add = (summary: string, details: object) =>
    self.branch.push({ type: "compaction", id: `c${self.branch.length}`, summary, firstKeptEntryId: "e4", details });
  add("A model's summary.", { readFiles: [] });
  const first = outside.compacts(WISH).compaction?.summary ?? "";
  expect(first).toMatch(/^A model's summary\.\n\n\[RLM folded: 2 earlier turns/);
  add(first, { rlm: 1 });
  expect(outside.compacts(WISH).compaction?.summary).toBe(first);
  const sent = outside.sent(self.messages());
  expect(sent[0]).toEqual({ role: "compactionSummary", summary: first });
});

test("behind our compaction there are further epochs, and another process goes on with their bytes", () => {
  const self = largeTalk();
  const { outside } = following(self);
  outside.sent(self.messages());
  const { compaction } = outside.compacts({ ...WISH, firstKeptEntryId: self.branch.at(-2)?.id ?? "" });
  expect(compaction?.summary).toMatch(/^\[RLM folded: 14 earlier turns/);
  self.branch.push({ type: "compaction", id: "compaction", ...compaction });
  const written = self.branch.length;
  for (let turn = 0; turn < 12; turn++) {
    self.answer(said(filler(`answer ${turn}`, 3000)));
    self.user(`prompt ${turn}`);
    expect(outside.sent(self.messages())[0]).toEqual({ role: "compactionSummary", summary: compaction?.summary });
  }
  expect(self.branch.slice(written).filter(({ customType }) => customType).length).toBeGreaterThan(0);
  const sent = outside.sent(self.messages());
  expect(stubsIn(sent)).toBeGreaterThan(2);
  const other = following(self, { settings: { externalize_min_tokens: 1000 } }).outside;
  other.arrived("start");
  self.answer(said("ok"));
  self.user("resumed");
  const resumed = other.sent(self.messages());
  expect(resumed.slice(0, sent.length).map((message) => JSON.stringify(message))).toEqual(
    sent.map((message) => JSON.stringify(message)),
  );
});
