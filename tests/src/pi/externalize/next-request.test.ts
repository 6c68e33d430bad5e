import { expect, test } from "vitest";
import { applyOutside } from "../../../../src/pi/externalize/apply.ts";
import { readOutside } from "../../../../src/pi/externalize/branch.ts";
import { inParts, readEntries } from "../../../../src/pi/externalize/entries.ts";
import { keyOf } from "../../../../src/pi/externalize/keys.ts";
import type { PiMessage } from "../../../../src/pi/externalize/message.ts";
import { triggerOf } from "../../../../src/pi/externalize/next-request.ts";
import { called, filler, RULES, readTurns, said, type Talk, talk } from "../../../support/pi/conversation.ts";

const isStub = ({ content, output }: PiMessage) => JSON.stringify([content, output]).includes("[RLM externalized: ");
const textsOf = (sent: readonly PiMessage[]) => sent.map((message) => JSON.stringify(message));
const epochsOf = (self: Talk) => readEntries(self.branch).epochs.map(({ epoch }) => epoch);

/** What the next request continues, byte for byte. */
function continues(sent: readonly PiMessage[], before: readonly PiMessage[]): void {
  expect(textsOf(sent).slice(0, before.length)).toEqual(textsOf(before));
}

test("an epoch comes at the trigger, frees down to the target, and takes the oldest texts", () => {
  const self = talk();
  const requests = readTurns(self, 12);
  const [first] = epochsOf(self);
  expect(first).toMatchObject({ v: 1, epoch: 1, cause: "threshold", window: 8000 });
  expect(first?.before).toBeGreaterThan(triggerOf(RULES));
  expect(first?.after).toBeLessThan(0.3 * 8000);
  const at = requests.findIndex(({ entries }) => entries.length > 0);
  const stubs = requests[at]?.sent.filter(({ role }) => role === "toolResult").map(isStub) ?? [];
  expect(stubs).toEqual(stubs.toSorted().toReversed());
  expect(requests.slice(0, at).every(({ sent }) => !sent.some(isStub))).toBe(true);
  for (const [n, { sent, entries }] of requests.entries()) {
    if (n > 0 && entries.length === 0) continues(sent, requests[n - 1]?.sent ?? []);
  }
});

test("the trigger leaves Pi's reserve alone, and never lies within a tenth of the target", () => {
  expect(triggerOf({ ...RULES, window: 200_000, reserve: 16_384 })).toBe(120_000);
  expect(triggerOf({ ...RULES, window: 32_000, reserve: 16_384 })).toBeCloseTo(13_273.6);
  expect(triggerOf({ ...RULES, window: 20_000, reserve: 16_384 })).toBeCloseTo(8000);
});

test("one prompt with many reads behind it goes out too; the prompt stays", () => {
  const self = talk();
  const prompt = self.user(filler("the task", 1200));
  for (let n = 0; n < 12; n++) {
    self.answer(called(`c${n}`));
    self.result(`c${n}`, filler(`c${n}`, 3000));
    const { sent, size } = self.request();
    expect(sent[0]).toEqual(prompt);
    expect(size.tokens).toBeLessThan(0.9 * 8000);
  }
  expect(epochsOf(self).length).toBeGreaterThan(1);
  expect(epochsOf(self)[0]?.keep).toEqual([keyOf(prompt)]);
  // A later epoch takes it once it is no longer the last prompt.
  readTurns(self, 8, 3000, 100);
  expect(self.request().sent.some((message) => keyOf(message) === keyOf(prompt) && !isStub(message))).toBe(false);
});

test("texts of calls that share one id go out each by itself, and the newest that are to stay do", () => {
  const self = talk({ warm_turns: 1 });
  const text = (n: number) => filler(`peeked ${n}`, 3000);
  for (let n = 0; n < 14; n++) {
    self.user(`look ${n}`);
    // One that was never answered, in the place of an earlier one with this id.
    if (n === 2) self.answer(called("0", "bash"));
    self.answer(called("0", "rlm_peek", { id: n }), ...(n === 13 ? [called("0", "rlm_peek", { id: 14 })] : []));
    self.result("0", text(n), "rlm_peek");
    if (n === 13) self.result("0", filler("peeked 14", 25_000), "rlm_peek");
    expect(self.request().size.tokens).toBeLessThan(0.9 * 8000);
    self.answer(said(`seen ${n}`));
  }
  const last = self.request().sent;
  for (let n = 0; n < 12; n++)
    expect(textsOf(last).filter((sent) => sent.includes(text(n).slice(0, 2900)))).toEqual([]);
  const causes = epochsOf(self).map(({ cause }) => cause);
  expect(causes).toContain("threshold");
  expect(causes).toContain("valve");
});

test("an epoch that would free less than a tenth of the window waits for the valve", () => {
  const self = talk();
  self.user(filler("old", 2000));
  self.answer(said("noted"));
  self.user(filler("large", 13_000));
  expect(self.request().entries).toEqual([]);
  self.answer(called("a"));
  self.result("a", filler("more", 8000));
  expect(self.request().entries).toMatchObject([{ cause: "threshold" }, { cause: "valve", results: ["toolResult:a"] }]);
});

test("a batch of results that does not fit goes out by the valve, the largest first, each with its beginning", () => {
  const self = talk({ window: 12_000 });
  readTurns(self, 2, 1000);
  self.user("read them all");
  const ids = Array.from({ length: 13 }, (_, n) => `b${n}`);
  self.answer(...ids.map((id) => called(id)));
  for (const [n, id] of ids.entries()) self.result(id, filler(id, 4000 + 300 * n));
  const { sent, entries, size } = self.request();
  const valve = entries.findLast(({ cause }) => cause === "valve");
  expect(size.atMost).toBeLessThanOrEqual(0.9 * 12_000);
  expect(valve?.results?.slice(0, 3)).toEqual(["toolResult:b12", "toolResult:b11", "toolResult:b10"]);
  const last = sent.at(-1);
  expect(JSON.stringify(last)).toContain("b12: the quick brown fox");
  const again = self.request();
  expect(again.entries).toEqual([]);
  expect(again.sent).toEqual(sent);
  // Once they are old, the stubs of the valve stay as they are.
  self.answer(said("read"));
  readTurns(self, 8, 3000, 200);
  const later = self.request().sent.find((message) => keyOf(message) === "toolResult:b12");
  if (later) expect(JSON.stringify(later)).toBe(JSON.stringify(last));
});

test("all results of one answer go out together, also if the first of them would do", () => {
  const self = talk();
  self.user("read two");
  self.answer(called("a"), called("b"));
  self.result("a", filler("a", 14_000));
  self.result("b", filler("b", 1500));
  self.answer(called("c"));
  self.result("c", filler("c", 1500));
  self.answer(said("two"));
  self.user("and?");
  const { sent, entries } = self.request();
  expect(sent.filter(({ role }) => role === "toolResult").map(isStub)).toEqual([true, true, false]);
  // Without the smaller one the request would have met the target.
  expect((entries[0]?.after ?? 0) + (1500 * 1.3) / 4).toBeLessThan(0.3 * 8000);
});

test("contents of any form: a string, none, and an image alone", () => {
  const self = talk({ to: 0.25 });
  self.push({ role: "user", content: filler("a string", 6000) });
  self.push({ role: "assistant", content: [], stopReason: "stop" });
  self.user("");
  self.answer(called("a"));
  const image = { type: "image", data: "AAAA", mimeType: "image/png" };
  self.push({ role: "toolResult", toolCallId: "a", toolName: "read", content: [image] });
  self.answer(said(filler("long", 14_000)));
  self.user("and?");
  self.answer(said("ok"));
  const last = self.push({ role: "user", content: "now" });
  const raw = self.messages();
  const { sent } = self.request();
  expect(sent.map(isStub)).toEqual([true, false, false, false, false, true, false, false, false]);
  expect(sent[0]).toMatchObject({ content: expect.stringMatching(/^\[RLM externalized: .*user: a string/) });
  expect(sent.slice(1, 5)).toEqual(raw.slice(1, 5));
  expect(sent.at(-1)).toEqual(last);
});

test("messages of extensions and commands of the user go out, whether they are shown or not", () => {
  const self = talk({ to: 0 });
  self.user("go");
  for (const display of [true, false]) {
    const content = [said(filler(`shown: ${display}`, 5000))];
    self.branch.push(Object.assign({ type: "custom_message", customType: "note", content }, { display }));
  }
  self.push({ role: "bashExecution", command: "npm test", output: filler("output", 6000) });
  self.push({ role: "bashExecution", command: "env", output: filler("secret", 6000), excludeFromContext: true });
  self.answer(said("ok"));
  self.user("now");
  const { sent } = self.request();
  // What the user keeps from models is no object, since Pi does not send it.
  expect(sent.map(isStub)).toEqual([false, true, true, true, false, false, false]);
});

test("answers with calls or thinking are sent as they were made; answers of text go out", () => {
  const self = talk({ window: 12_000, to: 0.5 });
  self.user("think");
  const thinking = { type: "thinking", thinking: filler("thought", 400), thinkingSignature: "sig" };
  const thought = self.answer(thinking, { ...said(filler("result", 9000)), textSignature: "t" });
  const call = self.answer(said(filler("plan", 4000)), called("a"));
  self.result("a", filler("a", 4000));
  self.answer(said(filler("long answer", 6000)));
  self.user("next");
  self.answer(said("yes"));
  self.user("now");
  const { sent } = self.request();
  expect(sent).toContainEqual(thought);
  expect(sent).toContainEqual(call);
  expect(sent.filter(isStub).map(({ role }) => role)).toEqual(["toolResult", "assistant"]);
});

test("what Belay's tools have just answered stays for some answers of the model", () => {
  const self = talk();
  readTurns(self, 3, 4000);
  self.user("peek");
  self.answer(called("p", "rlm_peek", { id: "rlm-obj-1" }));
  self.result("p", filler("peeked", 6000), "rlm_peek");
  self.answer(called("r"));
  self.result("r", filler("r", 6000));
  self.answer(called("s"));
  self.result("s", filler("s", 6000));
  const { sent, entries } = self.request();
  expect(entries.flatMap(({ keep = [] }) => keep)).toEqual(["toolResult:p"]);
  expect(sent.filter(({ role }) => role === "toolResult").map(isStub)).toEqual([true, true, true, false, true, false]);
  readTurns(self, 3, 6000, 50);
  expect(self.request().sent.find((message) => keyOf(message) === "toolResult:p")).toSatisfy(
    (message) => message === undefined || isStub(message),
  );
});

test("the same long prompt once more: the newest is not a stub", () => {
  const self = talk();
  const text = filler("pasted", 6000);
  self.user(text);
  self.answer(said("ok"));
  readTurns(self, 4, 3000);
  const last = self.user(text);
  const { sent } = self.request();
  expect(sent.at(-1)).toEqual(last);
  expect(isStub(sent[0] ?? last)).toBe(true);
});

test("messages of one millisecond, and texts that an extension repeats, are told apart by their order", () => {
  const self = talk({ window: 6000, to: 0.1 });
  const timestamp = 1_600_000_000_000;
  self.push({ role: "user", content: [said(filler("one", 8000))], timestamp });
  self.answer(said("ok"));
  const note = { role: "custom", customType: "note", content: filler("note", 3000) };
  self.push(note);
  self.answer(said("noted"));
  self.user("go");
  self.answer(said("on"));
  self.user("now");
  self.request();
  const late = self.push({ role: "user", content: [said(filler("two", 1000))], timestamp });
  const again = self.push(note);
  const { sent } = self.request();
  expect(sent.at(-2)).toEqual(late);
  expect(sent.at(-1)).toMatchObject({ content: again.content });
  expect(sent.filter(isStub)).toHaveLength(2);
});

test("a process with other settings goes on with the bytes of the one before", () => {
  const self = talk();
  const before = readTurns(self, 10).at(-1)?.sent ?? [];
  self.user("next");
  self.rules = { ...self.rules, min: 1000, to: 0.2, manifest: 100, warm_turns: 0 };
  const { sent, entries } = self.request();
  expect(entries).toEqual([]);
  continues(sent, before);
});

test("before an epoch of the tree the messages are raw, behind it they are stubs, on every branch of it", () => {
  const self = talk();
  readTurns(self, 12);
  const at = self.branch.findIndex(({ type }) => type === "custom");
  const whole = [...self.branch];
  const until = (end: number) => {
    self.branch.splice(0, self.branch.length, ...whole.slice(0, end));
    self.rules = { ...self.rules, window: 1_000_000 };
    self.user("a branch");
    return self.request().sent;
  };
  const before = until(at);
  expect(before.some(isStub)).toBe(false);
  const behind = until(at + 1);
  expect(behind.some(isStub)).toBe(true);
  const other = until(at + 1);
  expect(textsOf(other).slice(0, -1)).toEqual(textsOf(behind).slice(0, -1));
});

test("epochs of two branches with one beginning hold on their own branch, whichever was written first", () => {
  const self = talk({ window: 100_000 });
  readTurns(self, 8);
  const common = [...self.branch];
  const branchOf = (min: number) => {
    self.branch.splice(0, self.branch.length, ...common);
    self.rules = { ...self.rules, window: 8000, min };
    self.user(`a branch with ${min}`);
    const { sent, entries } = self.request();
    expect(entries).toMatchObject([{ epoch: 1, min }]);
    return { sent, branch: [...self.branch] };
  };
  const left = branchOf(200);
  const right = branchOf(700);
  for (const { sent, branch } of [left, right, left]) {
    self.branch.splice(0, self.branch.length, ...branch);
    const again = self.request();
    expect(again.entries).toEqual([]);
    expect(textsOf(again.sent)).toEqual(textsOf(sent));
  }
  expect(left.sent.filter(isStub).length).toBeGreaterThan(0);
});

test("an entry that stands before its prompt, as Pi 0.73 writes it, covers what it covered", () => {
  const self = talk({ window: 100_000 });
  readTurns(self, 6);
  self.rules = { ...self.rules, window: 8000 };
  const prompt = { role: "user", content: [said("next")], timestamp: 1_800_000_000_000 };
  self.user("next");
  const withPrompt = self.request();
  expect(withPrompt.entries).toHaveLength(1);
  const [held, entry] = self.branch.splice(-2);
  expect(entry?.type).toBe("custom");
  self.branch.push(entry ?? { type: "" }, held ?? { type: "" });
  const again = self.request();
  expect(again.entries).toEqual([]);
  expect(textsOf(again.sent)).toEqual(textsOf(withPrompt.sent));
  // Back before the prompt, and another one.
  self.branch.pop();
  self.push(prompt);
  continues(self.request().sent, withPrompt.sent.slice(0, -1));
});

test("sizes: what the provider counted, what it did not count, and answers that failed", () => {
  const counted = (usage: unknown, extra: Partial<PiMessage> = {}) => {
    const self = talk();
    self.user(filler("prompt", 4000));
    self.push({ role: "assistant", content: [said("ok")], stopReason: "stop", usage, ...extra });
    self.user(filler("next", 400));
    return self.request().size;
  };
  const none = counted(undefined);
  expect(none).toMatchObject({ counted: 0, estimated: 1201, ratio: 1.3, tokens: 1561 });
  expect(counted({ totalTokens: 0, input: 0, output: 0 })).toEqual(none);
  expect(counted({ totalTokens: 2202 })).toMatchObject({ counted: 2202, estimated: 100, ratio: 2, tokens: 2402 });
  expect(counted({ input: 1000, output: 102, cacheRead: 1000, cacheWrite: 100 })).toMatchObject({ counted: 2202 });
  expect(counted({ totalTokens: 90_000 })).toMatchObject({ ratio: 2.5 });
  expect(counted({ totalTokens: 2202 }, { stopReason: "error" })).toEqual(none);
  expect(counted({ totalTokens: 2202 }, { stopReason: "aborted" })).toEqual(none);
});

test("what was counted before an epoch does not count behind it, but its ratio does", () => {
  const self = talk();
  readTurns(self, 6, 2000);
  self.push({ role: "assistant", content: [said("counted")], stopReason: "stop", usage: { totalTokens: 7000 } });
  self.user("next");
  const first = self.request();
  expect(first.entries).toHaveLength(1);
  const second = self.request();
  expect(second.entries).toEqual([]);
  expect(second.size.counted).toBe(0);
  expect(second.size.ratio).toBeCloseTo(first.size.ratio, 5);
  expect(second.size.tokens).toBeLessThan(0.6 * 8000);
});

test("a smaller model in mid-session has an epoch at once; another one of the same window has it early", () => {
  const self = talk({ window: 16_000 });
  readTurns(self, 7, 3000);
  self.user("next");
  expect(self.request().entries).toEqual([]);
  const whole = [...self.branch];
  self.rules = { ...self.rules, model: { provider: "mock", id: "other" } };
  expect(self.request().entries).toMatchObject([{ cause: "model" }]);
  self.branch.splice(0, self.branch.length, ...whole);
  self.rules = { ...self.rules, model: RULES.model, window: 8000 };
  expect(self.request().entries).toMatchObject([{ cause: "threshold", window: 8000 }]);
});

test("a prompt that was refused as too large can go out when the next prompt comes", () => {
  const self = talk();
  readTurns(self, 1, 1000);
  self.user(filler("huge", 40_000));
  self.request();
  self.push({ role: "assistant", content: [], stopReason: "error" });
  const next = self.user("smaller, then");
  const { sent, size } = self.request();
  expect(size.atMost).toBeLessThan(8000);
  expect(sent.at(-1)).toEqual(next);
});

test("turns are folded when stubs are not enough, and what is sent stops growing", () => {
  const self = talk();
  const sizes = readTurns(self, 60, 2500).map(({ sent }) => JSON.stringify(sent).length);
  const folds = epochsOf(self).filter(({ fold }) => fold !== undefined);
  expect(folds.length).toBeGreaterThan(2);
  expect(Math.max(...sizes.slice(80))).toBeLessThan(1.15 * Math.max(...sizes.slice(0, 40)));
  const [first] = self.request().sent;
  const folded = said(expect.stringMatching(/^\[RLM folded: \d+ earlier turns/));
  expect(first).toMatchObject({ role: "user", content: [folded] });
});

test("a turn with a call of ours that may still be recovered is not folded, nor any behind it", () => {
  const self = talk();
  self.user("interrupted");
  self.answer(called("lost", "rlm_exec", { code: "1" }));
  readTurns(self, 60, 2500);
  expect(epochsOf(self).some(({ fold }) => fold !== undefined)).toBe(false);
  const other = talk();
  other.user("interrupted");
  other.answer(called("lost", "bash", { command: "sleep 9" }));
  readTurns(other, 60, 2500);
  expect(epochsOf(other).some(({ fold }) => fold !== undefined)).toBe(true);
});

test("entries of more than 2 KB are several of one epoch, and count for nothing until the last one is there", () => {
  const self = talk();
  self.user("many");
  const ids = Array.from({ length: 60 }, (_, n) => `call_${"x".repeat(60)}_${n}`);
  self.answer(...ids.map((id) => called(id)));
  for (const id of ids) self.result(id, filler(id, 1500));
  const { entries } = self.request();
  expect(entries.length).toBeGreaterThan(1);
  for (const entry of entries) expect(JSON.stringify(entry).length).toBeLessThanOrEqual(2048);
  expect(new Set(entries.map(({ epoch }) => epoch)).size).toBe(1);
  const facts = { v: 1, epoch: 4, cause: "threshold", min: 1, manifest: 1, preview: 1 } as const;
  const people = { window: 1, before: 1, after: 1, objects: 1 };
  const parts = inParts({ ...facts, ...people, through: "user:1", keep: ids.map((id) => `toolResult:${id}`) });
  expect(parts.map(({ through }) => through)).toEqual([...Array(parts.length - 1).fill(undefined), "user:1"]);
  expect(parts.flatMap(({ keep = [] }) => keep)).toHaveLength(60);
});

test("entries of another version and broken ones are passed over; those before a clear do not count", () => {
  const self = talk();
  readTurns(self, 8);
  const count = epochsOf(self).length;
  const put = (data: unknown) => self.branch.push({ type: "custom", customType: "rlm_externalize", data });
  put({ v: 2, epoch: 9 });
  put("nothing");
  expect(readEntries(self.branch)).toMatchObject({ unknown: 2, isOff: false });
  expect(epochsOf(self)).toHaveLength(count);
  put({ v: 1, off: true });
  expect(readEntries(self.branch).isOff).toBe(true);
  put({ v: 1, clear: true });
  expect(epochsOf(self)).toEqual([]);
  expect(applyOutside(self.messages(), readOutside(self.branch), self.ids)).toEqual(self.messages());
});

test("behind a compaction of Pi the keys that are gone match nothing, and the rest stays as it was", () => {
  const self = talk();
  readTurns(self, 10, 2500);
  const before = self.request().sent;
  const kept = self.branch.findLastIndex(({ message }) => JSON.stringify(message ?? "").includes("What is in call_8"));
  self.branch.push({ type: "compaction", summary: "before", firstKeptEntryId: self.branch[kept]?.id ?? "" });
  self.user("next");
  const { sent, size } = self.request();
  // What was counted before is not what is sent now.
  expect(size.counted).toBe(0);
  expect(sent[0]).toEqual({ role: "compactionSummary", summary: "before" });
  const tail = before.slice(before.findIndex((message) => JSON.stringify(message).includes("What is in call_8")));
  expect(textsOf(sent.slice(1, -1))).toEqual(textsOf(tail));
  expect(readTurns(self, 30, 2500, 60).flatMap(({ entries }) => entries).length).toBeGreaterThan(1);
  expect(self.request().sent[0]).toEqual(sent[0]);
});
