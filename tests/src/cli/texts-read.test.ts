import { expect, test } from "vitest";
import { DEFAULT_EXEC_LIMITS } from "../../../runtime/index.ts";
import { inConversation, showOutcome } from "../../../src/cli/render/envelope.ts";
import { openScripted } from "../../support/scripted-session.ts";
import { recorded } from "./recorded.ts";

test("a batch that the command finishes is told as texts, with the answer of each", async () => {
  const answer = JSON.stringify({ answer: "yes", confidence: "high", evidence: [] });
  const { session } = await openScripted(() => answer);
  await session.load({ text: "one two", name: "a.txt" });
  const object = { id: "rlm-obj-1", of: "P", start: 16, end: 19 } as const;
  const objects = ["first", "second"].map((name) => ({ ...object, name }));
  const read = await session.readObjects("Is it so?", objects, { inlineTokens: 100, maxTokens: 100 });
  const [stdout, stderr] = [recorded(), recorded({ isTerminal: true })];
  showOutcome(read, null, { stdout: stdout.output, stderr: stderr.output }, inConversation(DEFAULT_EXEC_LIMITS));
  expect(stdout.text()).toBe("[first]\nyes\n\n[second]\nyes\n");
  expect(stderr.text()).toBe("2 texts:\n  first\n  second\n");
});
