import { expect, test } from "vitest";
import type { Compact } from "../../../../src/pi/externalize/asked.ts";
import { filler, readTurns, said, type Talk, talk } from "../../../support/pi/conversation.ts";
import { following, stubsIn, WISH } from "../../../support/pi/following.ts";

/** A conversation of four reads, and its next prompt. */
function shortTalk(): Talk {
  const self = talk({ window: 1_000_000 });
  readTurns(self, 4);
  return self;
}

const entries = (self: Talk) => self.branch.flatMap(({ customType, data }) => (customType ? [data] : []));

test("externalize has texts go out before it is necessary", () => {
  const self = shortTalk();
  const { outside } = following(self);
  expect(outside.asked.externalize()).toMatchObject({ is: "out", objects: 2 });
  expect(stubsIn(outside.sent(self.messages()))).toBe(2);
  const small = talk();
  small.user("hello");
  small.answer(said("hi"));
  expect(following(small).outside.asked.externalize()).toEqual({ is: "nothing" });
  expect(small.branch).toHaveLength(2);
});

test("externalize has all old texts go out, and folds nothing, if the conversation is below the target already", () => {
  const self = shortTalk();
  const { outside } = following(self, { window: 1_000_000 });
  expect(outside.asked.externalize()).toMatchObject({ is: "out", objects: 4 });
  expect(outside.sent(self.messages())).toHaveLength(self.messages().length);
  expect(outside.asked.externalize()).toEqual({ is: "nothing" });
});

test("externalize does nothing on a branch that is off", () => {
  const self = shortTalk();
  const { asked } = following(self).outside;
  asked.switched(true);
  expect([asked.isOff(), asked.externalize()]).toEqual([true, { is: "off" }]);
  expect(entries(self)).toEqual([{ v: 1, off: true }]);
  asked.switched(false);
  expect([asked.isOff(), asked.externalize()]).toMatchObject([false, { is: "out" }]);
});

test("switched off, it says what is sent: texts if they fit, stubs if not", () => {
  const self = shortTalk();
  const { asked } = following(self).outside;
  expect(asked.switched(true)).toBe("nothing");
  asked.switched(false);
  asked.externalize();
  expect(asked.switched(true)).toBe("raw");
  const large = following(self, { window: 3000 }).outside;
  expect(large.asked.switched(true)).toBe("stubs");
  expect(stubsIn(large.sent(self.messages()))).toBe(2);
  expect(stubsIn(following(self).outside.sent(self.messages()))).toBe(0);
});

test("clear has all texts sent again, and nothing goes out at once", () => {
  const self = shortTalk();
  const { outside } = following(self);
  expect(outside.asked.clear()).toEqual({ is: "nothing" });
  outside.asked.externalize();
  expect(outside.asked.clear()).toEqual({ is: "cleared", objects: 2 });
  const written = self.branch.length;
  expect(outside.sent(self.messages())).toEqual(self.messages());
  expect(self.branch).toHaveLength(written);
  expect(outside.asked.clear()).toEqual({ is: "nothing" });
});

test("clear is refused if the texts do not fit, or would go out again, and nothing is written", () => {
  const self = shortTalk();
  following(self).outside.asked.externalize();
  const written = self.branch.length;
  const clearIn = (window: number, settings = {}) => following(self, { window, settings }).outside.asked.clear();
  expect(clearIn(3000)).toMatchObject({ is: "too_large", most: 2000 });
  expect(clearIn(5500)).toMatchObject({ is: "out_again", most: 3300 });
  expect(self.branch).toHaveLength(written);
  expect(clearIn(5500, { externalize: false })).toMatchObject({ is: "cleared" });
});

/** Pi's `ctx.compact`: what the handler answers is put on the branch, or the compaction is given up. */
function compactOf(self: Talk, compacts: ReturnType<typeof following>["outside"]["compacts"], kept = "e8"): Compact {
  return ({ onComplete, onError }) => {
    const { cancel, compaction } = compacts({ ...WISH, reason: "manual", firstKeptEntryId: kept });
    if (cancel || !compaction) return onError(new Error("Compaction cancelled"));
    self.branch.push({ type: "compaction", id: "compaction", ...compaction });
    onComplete();
  };
}

test("leaving compacts without a model, names none of our tools, and leaves nothing that a stub could come back for", async () => {
  const self = shortTalk();
  const { outside } = following(self);
  outside.asked.externalize();
  const left = await outside.asked.leave(compactOf(self, outside.compacts));
  expect(left).toEqual({ compacted: true, is: "nothing" });
  expect(entries(self).slice(-2)).toEqual([
    { v: 1, clear: true },
    { v: 1, off: true },
  ]);
  const sent = outside.sent(self.messages());
  expect(sent).toEqual(self.messages());
  expect(JSON.stringify(sent)).not.toMatch(/rlm_peek|rlm_search/);
  expect(sent[0]).toHaveProperty(
    "summary",
    expect.stringMatching(
      /^\[2 earlier turns, 8 messages were left out to save room\. Their prompts and texts, newest first:\]\n- rlm-obj-/,
    ),
  );
  self.user(filler("more", 40_000));
  expect(stubsIn(outside.sent(self.messages()))).toBe(0);
  expect(outside.compacts(WISH)).toEqual({});
});

test("leaving a conversation of which nothing can be summarized switches it off all the same", async () => {
  const self = shortTalk();
  const { outside } = following(self);
  const left = await outside.asked.leave(compactOf(self, outside.compacts, "e0"));
  expect(left).toEqual({ compacted: false, is: "nothing" });
  const none = following(shortTalk()).outside.asked;
  const error = (message: string) => none.leave(({ onError }) => onError(new Error(message)));
  expect(await error("Nothing to compact (session too small)")).toMatchObject({ compacted: false });
});

test("leaving keeps stubs if what Pi keeps does not fit", async () => {
  const self = shortTalk();
  following(self).outside.asked.externalize();
  const { outside } = following(self, { window: 2500 });
  const left = await outside.asked.leave(compactOf(self, outside.compacts, "e4"));
  expect(left).toEqual({ compacted: true, is: "stubs" });
  expect(entries(self).at(-1)).toEqual({ v: 1, off: true });
});

test("if Pi cannot compact, or the user ends it, nothing is changed", async () => {
  const self = shortTalk();
  const { outside } = following(self);
  const written = self.branch.length;
  const compact: Compact = ({ onError }) => onError(new Error("Compaction cancelled"));
  await expect(outside.asked.leave(compact)).rejects.toThrow("Compaction cancelled");
  expect(self.branch).toHaveLength(written);
  // The next compaction is decided on as ever.
  expect(outside.compacts({ ...WISH, reason: "manual" })).toEqual({});
});
