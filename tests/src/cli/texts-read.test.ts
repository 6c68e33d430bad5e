import { expect, test } from "vitest";
import { DEFAULT_EXEC_LIMITS } from "../../../runtime/index.ts";
import { inConversation, showAnswer } from "../../../src/cli/render/envelope.ts";
import type { Output } from "../../../src/cli/render/terminal.ts";
import { openScripted } from "../../support/scripted-session.ts";

test("a batch that the command finishes is told as texts, with the answer of each", async () => {
  const answer = JSON.stringify({ answer: "yes", confidence: "high", evidence: [] });
  const { session } = await openScripted(() => answer);
  await session.load({ text: "one two", name: "a.txt" });
  const object = { id: "rlm-obj-1", of: "P", start: 16, end: 19 } as const;
  const objects = ["first", "second"].map((name) => ({ ...object, name }));
  const read = await session.readObjects("Is it so?", objects, { inlineTokens: 100, maxTokens: 100 });
  const [stdout, stderr] = [output(false), output(true)];
  showAnswer(read, null, { stdout, stderr }, inConversation(DEFAULT_EXEC_LIMITS));
  expect(stdout.said()).toBe("[first]\nyes\n\n[second]\nyes\n");
  expect(stderr.said()).toBe("2 texts:\n  first\n  second\n");
});

function output(isTerminal: boolean): Output & { said(): string } {
  let said = "";
  const write = (text: string) => {
    said += text;
  };
  return {
    isTerminal,
    columns: 80,
    colours: false,
    paint: (text) => text,
    write,
    writeRaw: write,
    said: () => said,
  };
}
