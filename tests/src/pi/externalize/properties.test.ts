import fc from "fast-check";
import { expect, test } from "vitest";
import { findObject, historyContext } from "../../../../src/context/index.ts";
import { historyMessage, messagesOn } from "../../../../src/pi/branch/messages.ts";
import { applyOutside, fates } from "../../../../src/pi/externalize/apply.ts";
import { readOutside } from "../../../../src/pi/externalize/branch.ts";
import { objectText } from "../../../../src/pi/externalize/keys.ts";
import type { PiMessage } from "../../../../src/pi/externalize/message.ts";
import { called, filler, orphansIn, said, type Talk, talk } from "../../../support/pi/conversation.ts";

/** What happens in a conversation, one after the other. */
type Step =
  | { readonly is: "user"; readonly chars: number }
  | { readonly is: "custom"; readonly chars: number }
  | { readonly is: "bash"; readonly chars: number }
  | { readonly is: "answer"; readonly chars: number; readonly thinks: boolean }
  | { readonly is: "calls"; readonly results: readonly number[]; readonly tool: string; readonly sameIds: boolean }
  | { readonly is: "failure" };

const chars = fc.oneof(fc.nat(300), fc.nat(9000));
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ is: fc.constant("user" as const), chars }),
  fc.record({ is: fc.constant("custom" as const), chars }),
  fc.record({ is: fc.constant("bash" as const), chars }),
  fc.record({ is: fc.constant("answer" as const), chars, thinks: fc.boolean() }),
  fc.record({
    is: fc.constant("calls" as const),
    results: fc.array(chars, { minLength: 1, maxLength: 4 }),
    tool: fc.constantFrom("read", "bash", "rlm_exec"),
    sameIds: fc.boolean(),
  }),
  fc.record({ is: fc.constant("failure" as const) }),
);

const rules = fc.record({
  ...{ window: fc.constantFrom(6000, 12_000), min: fc.constantFrom(100, 200, 400) },
  ...{ manifest: fc.constantFrom(200, 1000), warm_turns: fc.nat(3) },
});

test("what is sent keeps to the rules, whatever a conversation is made of", () => {
  let [epochs, folds, valves] = [0, 0, 0];
  fc.assert(
    fc.property(fc.array(step, { minLength: 5, maxLength: 40 }), rules, (steps, given) => {
      const self = talk(given);
      let before: readonly PiMessage[] = [];
      for (const [n, one] of steps.entries()) {
        take(self, one, n);
        const messages = self.messages();
        const { sent, entries } = self.request();
        const outside = readOutside(self.branch);
        expect(applyOutside(messages, outside, self.ids)).toEqual(sent);
        expect(applyOutside(sent, outside, self.ids)).toEqual(sent);
        expect(orphansIn(sent)).toEqual([]);
        if (entries.length === 0) expect(sent.slice(0, before.length)).toEqual(before);
        staysAsItIs(messages, sent);
        const all = fates(messages, outside, self.ids);
        expect(all.map(({ sent }) => sent.role)).toEqual(messages.map(({ role }) => role));
        before = sent;
      }
      const { entries } = readOutside(self.branch);
      epochs += entries.epochs.length;
      folds += entries.epochs.filter(({ epoch }) => epoch.fold !== undefined).length;
      valves += entries.epochs.filter(({ epoch }) => epoch.cause === "valve").length;
    }),
    { numRuns: 60, seed: 5 },
  );
  // Otherwise the conversations were too small to show anything.
  expect([epochs > 100, folds > 10, valves > 10], `${epochs} ${folds} ${valves}`).toEqual([true, true, true]);
});

test("every text that went out is found by its id, byte for byte", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), rules, async (steps, given) => {
      const self = talk(given);
      for (const [n, one] of steps.entries()) {
        take(self, one, n);
        self.request();
      }
      const said = messagesOn(self.branch).flatMap((message) => historyMessage(message) ?? []);
      const pause = async () => {};
      const context = await historyContext(said, pause);
      for (const { message, key, is } of fates(self.messages(), readOutside(self.branch), self.ids)) {
        if (is === "raw" || key === null) continue;
        const text = objectText(message) ?? "";
        const found = await findObject([{ of: "history", context }], self.ids.idOf(key, text), pause);
        expect(context.text.slice(found.document.start, found.document.end)).toBe(text);
      }
    }),
    { numRuns: 12 },
  );
});

function take(self: Talk, one: Step, n: number): void {
  if (one.is === "user") self.user(filler(`prompt ${n}`, one.chars));
  // The same text again and again, as extensions remind of something.
  else if (one.is === "custom") self.push({ role: "custom", customType: "note", content: filler("note", one.chars) });
  else if (one.is === "bash") self.push({ role: "bashExecution", command: "ls", output: filler(`ls ${n}`, one.chars) });
  else if (one.is === "failure") self.push({ role: "assistant", content: [], stopReason: "error" });
  else if (one.is === "answer") {
    const thinking = one.thinks ? [{ type: "thinking", thinking: "hm", thinkingSignature: "abc" }] : [];
    self.answer(...thinking, said(filler(`answer ${n}`, one.chars)));
  } else {
    // Some servers number the calls of each answer anew.
    const ids = one.results.map((_, at) => (one.sameIds ? `call_${at}` : `call_${n}_${at}`));
    self.answer(...ids.map((id) => called(id, one.tool)));
    for (const [at, id] of ids.entries()) self.result(id, filler(`result ${n} ${at}`, one.results[at] ?? 0), one.tool);
  }
}

/** The last prompt and the last answer are sent as they are. */
function staysAsItIs(messages: readonly PiMessage[], sent: readonly PiMessage[]): void {
  const prompt = messages.findLast(({ role }) => role === "user");
  if (prompt) expect(sent).toContainEqual(prompt);
  const answer = messages.findLast(({ role, stopReason }) => role === "assistant" && stopReason !== "error");
  if (answer) expect(sent).toContainEqual(answer);
}
