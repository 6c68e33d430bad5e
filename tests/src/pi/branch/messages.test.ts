import { expect, test } from "vitest";
import { messageText } from "../../../../src/context/index.ts";
import { historyMessage, messagesOn } from "../../../../src/pi/branch/messages.ts";

/** The text of a message as history has it. */
function textOf(message: unknown): string | null {
  const read = historyMessage(message);
  return read && messageText(read);
}

test("a message is its texts, then its calls and its images; thinking and what is unknown is left out", () => {
  const content = [
    { type: "thinking", thinking: "hm", thinkingSignature: "s" },
    { type: "text", text: "I look.\n", textSignature: "s" },
    { type: "toolCall", id: "c1", name: "read", arguments: { path: "src/auth.ts", limit: 3 } },
    { type: "text", text: "And ls." },
    { type: "toolCall", id: "c2", name: "ls" },
    { type: "novelty", text: "of a later Pi" },
    null,
  ];
  expect(textOf({ role: "assistant", content })).toBe(
    'I look.\n\nAnd ls.\n→ read({"path":"src/auth.ts","limit":3})\n→ ls()',
  );
  const image = { type: "image", mimeType: "image/png", data: Buffer.alloc(34_000).toString("base64") };
  expect(textOf({ role: "user", content: [{ type: "text", text: "see" }, image] })).toBe("see\n[image/png, 34 KB]");
  expect(textOf({ role: "toolResult", toolName: "read", content: [image] })).toBe("[image/png, 34 KB]");
});

test("content may be a text, nothing, or of another shape", () => {
  expect(textOf({ role: "user", content: "hello" })).toBe("hello");
  expect(textOf({ role: "assistant", content: [], stopReason: "error" })).toBe("");
  expect(textOf({ role: "user", content: 7 })).toBe("");
  expect(textOf({ role: "system", content: "You are an agent." })).toBeNull();
  expect(textOf("text")).toBeNull();
  expect(textOf(null)).toBeNull();
});

test("a command of the user reads as Pi sends it, and one that the models are not to see is left out", () => {
  const ran = { role: "bashExecution", command: "ls", output: "a\nb", exitCode: 0, cancelled: false, truncated: false };
  expect(textOf(ran)).toBe("Ran `ls`\n```\na\nb\n```");
  expect(textOf({ ...ran, output: "", exitCode: 2 })).toBe("Ran `ls`\n(no output)\n\nCommand exited with code 2");
  expect(textOf({ ...ran, cancelled: true, exitCode: undefined, truncated: true, fullOutputPath: "/tmp/o" })).toBe(
    "Ran `ls`\n```\na\nb\n```\n\n(command cancelled)\n\n[Output truncated. Full output: /tmp/o]",
  );
  expect(historyMessage({ ...ran, excludeFromContext: true })).toBeNull();
});

test("a branch's messages stand in their order, those before a compaction too; other entries are none", () => {
  const entries = [
    { type: "message", message: { role: "user", content: "one" } },
    { type: "model_change" },
    { type: "custom", customType: "rlm_start", data: {} },
    { type: "custom_message", customType: "note", content: [{ type: "text", text: "two" }] },
    { type: "compaction", summary: "one and two" },
    { type: "branch_summary", summary: "three" },
    { type: "message", message: { role: "toolResult", toolName: "read", content: [{ type: "text", text: "four" }] } },
  ];
  const read = messagesOn(entries).map(historyMessage);
  expect(read.map((message) => message && [message.role, message.tool, message.text])).toEqual([
    ["user", null, "one"],
    ["custom", null, "two"],
    ["branchSummary", null, "three"],
    ["toolResult", "read", "four"],
  ]);
});
