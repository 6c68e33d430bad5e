import { expect, test } from "vitest";
import { readBranch } from "../../../../src/pi/branch/entries.ts";
import { type BranchEntry, withAnswers } from "../../../../src/pi/externalize/message.ts";
import type { ToolResultMessage } from "../../../../src/pi/host.ts";

const custom = (customType: string, data: unknown): BranchEntry => ({ type: "custom", customType, data });
const start = (tool_call_id: string, exec_id: string, kind = "cell") =>
  custom("rlm_start", { tool_call_id, session: "S", exec_id, kind, parent: null });
const complete = (exec_id: string, checkpoint: string | null) =>
  custom("rlm_complete", {
    ...{ session: "S", exec_id, kind: "cell", success: true, error_code: null, checkpoint, context_hash: "c" },
    context_key: "c",
    later: 1,
  });
const message = (said: object): BranchEntry => ({ type: "message", message: said });
const use = (id: string, name = "rlm_exec") => ({ type: "toolCall", id, name, arguments: { code: id } });
const says = (...content: object[]) => message({ role: "assistant", stopReason: "toolUse", content });
const result = (toolCallId: string) => message({ role: "toolResult", toolCallId, content: [] });
const user = message({ role: "user", content: "hi" });

const answerOf = (toolCallId: string): ToolResultMessage => ({
  ...{ role: "toolResult", toolCallId, toolName: "rlm_exec", content: [], details: {}, isError: false },
  timestamp: 0,
});

const NOTHING = { head: null, completed: new Set(), starts: [], unanswered: [], openWork: null, isUsed: false };

const read = (...entries: BranchEntry[]) => readBranch(entries, (name) => name.startsWith("rlm_"));

test("the state is that of the last exec that ended", () => {
  expect(read()).toEqual(NOTHING);
  const view = read(user, start("a", "1"), complete("1", "K1"), start("b", "2"), complete("2", "K2"), start("c", "3"));
  expect(view.head).toEqual({ session: "S", checkpoint: "K2", context: "c" });
  expect(view.completed).toEqual(new Set(["1", "2"]));
  // An entry that names an earlier exec again goes back to it.
  expect(read(complete("1", "K1"), complete("2", "K2"), complete("1", "K1")).head?.checkpoint).toBe("K1");
});

test("an ask or a cell is open until it ends, or until something else is run on the branch", () => {
  const ask = start("a", "1", "ask");
  expect(read(ask).openWork).toMatchObject({ session: "S", exec_id: "1" });
  expect(read(ask, result("a"), user, start("b", "1", "ask")).openWork).toMatchObject({ tool_call_id: "b" });
  expect(read(ask, complete("1", "K1")).openWork).toBeNull();
  expect(read(ask, start("b", "2")).openWork).toMatchObject({ exec_id: "2", kind: "cell" });
  expect(read(ask, start("b", "2", "load")).openWork).toBeNull();
});

test("entries that are not whole, and those of others, are passed over", () => {
  const view = read(
    custom("rlm_complete", { session: "S" }),
    custom("rlm_start", null),
    custom("other", { session: "S" }),
    { type: "custom_message", customType: "rlm_complete", data: {} },
    message({ role: "assistant" }),
    message({ role: "bashExecution" }),
    { type: "message" },
  );
  expect(view).toEqual(NOTHING);
});

test("a call without a result is unanswered where it has begun, and at the tail where nobody has spoken since", () => {
  const both = [says(use("a"), use("b"), use("x", "bash")), start("a", "1"), start("a", "2"), start("x", "9")];
  const starts = [{ exec_id: "1" }, { exec_id: "2" }];
  const unanswered = [{ tool_call_id: "a", tool: "rlm_exec", args: { code: "a" }, isTail: true, starts }];
  expect(read(...both).unanswered).toMatchObject(unanswered);
  expect(read(...both, start("b", "3"), result("a")).unanswered).toMatchObject([{ tool_call_id: "b", isTail: true }]);
  expect(read(...both, user).unanswered).toMatchObject([{ tool_call_id: "a", isTail: false }]);
  expect(read(...both, custom("rlm_complete", {}), result("a")).unanswered).toEqual([]);
  const broken = message({ role: "assistant", stopReason: "aborted", content: [use("a")] });
  expect(read(broken, start("a", "1")).unanswered).toEqual([]);
});

test.each(["functions.rlm_exec:0", ""])("calls that share the id %j are told apart by their order", (id) => {
  const at = (timestamp: number, ...content: object[]) =>
    message({ role: "assistant", stopReason: "toolUse", timestamp, content });
  const first = [at(1, use(id)), start(id, "1"), complete("1", "K1"), result(id), user];
  const second = [at(2, use(id, "bash"), use(id)), result(id), start(id, "2")];
  expect(read(...first).unanswered).toEqual([]);
  const { unanswered } = read(...first, ...second);
  expect(unanswered).toMatchObject([{ tool: "rlm_exec", starts: [{ exec_id: "2" }], isTail: true }]);
  expect(read(...first, ...second, result(id)).unanswered).toEqual([]);
  // A call that was never answered takes no result of a later one.
  const lost = [at(1, use(id)), start(id, "1"), user, ...second, result(id)];
  expect(read(...lost).unanswered).toMatchObject([{ starts: [{ exec_id: "1" }], isTail: false }]);

  const messages = [...first, ...second].flatMap(({ message: said }) => (said === undefined ? [] : [Object(said)]));
  const answer = answerOf(id);
  const answers = new Map(unanswered.map(({ key }) => [key, answer]));
  const whole = withAnswers(messages, answers);
  expect(whole.map(({ role }) => role)).toEqual([
    "assistant",
    "toolResult",
    "user",
    "assistant",
    "toolResult",
    "toolResult",
  ]);
  expect(withAnswers(whole, answers)).toEqual(whole);
});

test("a result stands behind the message that called, only where there is none", () => {
  const answers = new Map([
    [":0:a", answerOf("a")],
    [":1:b", answerOf("b")],
    [":0:z", answerOf("z")],
  ]);
  const messages = [
    { role: "user", content: "hi" },
    { role: "assistant", content: [{ type: "text" }, use("a"), use("b"), use("c")] },
    { role: "toolResult", toolCallId: "b" },
    { role: "user", content: "on" },
  ];
  const whole = withAnswers(messages, answers);
  expect(whole).toEqual([messages[0], messages[1], answerOf("a"), messages[2], messages[3]]);
  expect(withAnswers(whole, answers)).toEqual(whole);
  expect(withAnswers(messages, new Map())).toBe(messages);
});
