import { expect, test } from "vitest";
import { withSharedBeginning } from "../../../../src/models/pi-ai/asking.ts";

const MARK = { cache_control: { type: "ephemeral" } };
const text = (words: string, more: object = {}) => ({ type: "text", text: words, ...more });
const ask = (content: unknown, system?: unknown) => ({
  ...(system ? { system } : {}),
  messages: [
    { role: "user", content },
    { role: "assistant", content: "yes" },
  ],
});
const marked = (body: Readonly<Record<string, unknown>>, units: number) =>
  withSharedBeginning("anthropic-messages", body, units);

test("what requests share is a block of its own, marked for the cache", () => {
  expect(marked(ask("All: one"), 5)).toEqual(ask([text("All: ", MARK), text("one")]));
  // The last message of a sub-agent is marked by pi-ai.
  expect(marked(ask([text("All: one", MARK)], [text("Be brief.", MARK)]), 5)).toEqual(
    ask([text("All: ", MARK), text("one", MARK)], [text("Be brief.")]),
  );
});

test("no block is of white space alone: the whole message is marked, or the system prompt", () => {
  expect(marked(ask("All:\n"), 4)).toEqual(ask([text("All:\n", MARK)]));
  expect(marked(ask("All"), 3)).toEqual(ask([text("All", MARK)]));
  const system = [text("Claude."), text("Be brief.")];
  expect(marked(ask(" one", system), 1)).toEqual(ask(" one", [text("Claude."), text("Be brief.", MARK)]));
  expect(marked(ask("one", system), 0)).toEqual(ask("one", [text("Claude."), text("Be brief.", MARK)]));
  expect(marked(ask("one"), 0)).toEqual(ask("one"));
});

test("a body of another API, or of another form, stays as it is", () => {
  expect(withSharedBeginning("openai-completions", ask("All: one"), 5)).toEqual(ask("All: one"));
  for (const odd of [{}, { messages: [] }, ask([{ type: "image" }]), ask(7)]) expect(marked(odd, 5)).toEqual(odd);
});
