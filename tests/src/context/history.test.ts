import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Context } from "../../../src/context/context.ts";
import { growingHistory, type HistoryMessage, historyContext, messageText } from "../../../src/context/history.ts";
import { objectId, objectOf } from "../../../src/context/objects.ts";

test("each message is a document, named by its place and by its role or tool, and P joins them with line ends", async () => {
  const { text, documents, stats } = await historyContext(
    [said("user", "read it"), called("read", { path: "a" }), result("read", "one\ntwo\n"), result("mcp/odd name", "")],
    noPause,
  );
  expect(text.slice(0, text.length)).toBe('read it\n→ read({"path":"a"})\none\ntwo\n\n');
  expect(documents.map(({ id, start, end }) => [id, text.slice(start, end)])).toEqual([
    ["history/0001-user", "read it"],
    ["history/0002-assistant", '→ read({"path":"a"})'],
    ["history/0003-read", "one\ntwo\n"],
    ["history/0004-mcp_odd_name", ""],
  ]);
  expect(stats).toMatchObject({ length_chars: text.length, line_count: 5, document_count: 4, sources: ["history"] });
  expect((await historyContext([], noPause)).documents).toEqual([]);
});

const message = fc.record({
  role: fc.constantFrom("user", "assistant"),
  tool: fc.option(fc.constantFrom("read", "bash")),
  text: fc.string({ unit: fc.constantFrom("a", "\n", "é", "\u{1f600}", "\ud800"), maxLength: 12 }),
  calls: fc.array(fc.record({ name: fc.constant("ls"), args: fc.jsonValue() }), { maxLength: 1 }),
  images: fc.array(fc.record({ type: fc.constant("image/png"), bytes: fc.nat(9_000) }), { maxLength: 1 }),
});

test("a conversation that goes on keeps its parts and documents, and every text is found under the id of its text", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(message, { maxLength: 6 }), fc.nat(6), async (messages, cut) => {
      const context = await historyContext(messages, noPause);
      const before = await historyContext(messages.slice(0, cut), noPause);
      expect(context.parts.slice(0, before.parts.length)).toEqual(before.parts);
      expect(context.documents.slice(0, before.documents.length)).toEqual(before.documents);
      expect(context.parts.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(context.text.data.bytes.length);
      for (const [index, document] of context.documents.entries()) {
        const whole = messageText(messages[index] ?? said("user", ""));
        expect(context.text.slice(document.start, document.end)).toBe(whole.toWellFormed());
        expect((await objectOf({ of: "history", context, document }, noPause)).id).toBe(objectId(whole));
      }
    }),
    { numRuns: 20 },
  );
});

test("contexts of a conversation that goes on, or goes back and on elsewhere, are as if each were made by itself", async () => {
  const steps = fc.array(fc.record({ back: fc.oneof(fc.constant(0), fc.nat(3)), said: fc.array(message) }));
  await fc.assert(
    fc.asyncProperty(steps, async (turns) => {
      const grow = growingHistory();
      const all: { readonly messages: HistoryMessage[]; readonly context: Context }[] = [];
      let messages: HistoryMessage[] = [];
      for (const { back, said } of turns) {
        messages = [...messages.slice(0, messages.length - back), ...said];
        all.push({ messages, context: await grow(messages, noPause) });
      }
      for (const { messages, context } of all) {
        expect(factsOf(context)).toEqual(factsOf(await historyContext(messages, noPause)));
        const text = messages.map((one) => messageText(one).toWellFormed()).join("\n");
        expect(factsOf(context)).toMatchObject({ text, hash: createHash("sha256").update(text).digest("hex") });
      }
    }),
    { numRuns: 20 },
  );
});

test("what is asked for at once is made one after the other", async () => {
  const grow = growingHistory();
  const messages = ["a", "é", "c", "d"].map((text) => said("user", text));
  const slow = () => new Promise<void>((resolve) => setImmediate(resolve));
  const [all, some] = await Promise.all([grow(messages, slow), grow(messages.slice(0, 2), slow)]);
  expect([factsOf(all).text, factsOf(some).text]).toEqual(["a\né\nc\nd", "a\né"]);
});

const factsOf = ({ text, ...facts }: Context) => ({ ...facts, text: text.slice(0, text.length) });

function said(role: string, text: string): HistoryMessage {
  return { role, tool: null, text, calls: [], images: [] };
}

function called(name: string, args: object): HistoryMessage {
  return { ...said("assistant", ""), calls: [{ name, args }] };
}

function result(tool: string, text: string): HistoryMessage {
  return { ...said("toolResult", text), tool };
}

async function noPause(): Promise<void> {}
