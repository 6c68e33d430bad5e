import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { getEventListeners } from "node:events";
import {
  createAssistantMessageEventStream,
  fauxAssistantMessage,
  fauxText,
  fauxThinking,
  fauxToolCall,
} from "belay-pi-ai";
import { expect, onTestFinished, test, vi } from "vitest";
import { piAiModel } from "../../../../src/models/pi-ai/model.ts";
import type { ModelAnswer, ModelMessage, ModelTurn } from "../../../../src/models/port.ts";
import type { ScriptedAnswer } from "../../../support/model-server.ts";
import { AUTHORIZATION, answerTo, ask, faux, KEY, messageOf, serve } from "../../../support/scripted-model.ts";

const NO_USAGE = { input: 0, output: 0, cache_read: 0, cache_write: 0, cost_usd: 0 };

const READ = {
  name: "read",
  description: "Reads a file.",
  parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
};

function turnOf(answer: ModelAnswer): ModelTurn {
  if (answer.ok) return answer.turn;
  throw new Error(answer.error.message);
}

test("text in pieces is one text, with the provider's usage", async () => {
  const text = "a text of several pieces, é and 漢";
  const usage = { prompt: 100, completion: 7, cached: 60 };
  const answer = await answerTo({ text, pieces: 5, pieceMs: 1, usage });
  expect(answer).toMatchObject({ ok: true, charged: true, turn: { text, toolUses: [], stop: "end" } });
  expect(answer.usage).toEqual({ input: 40, output: 7, cache_read: 60, cache_write: 0, cost_usd: 0 });
});

test("an answer without usage is not charged", async () => {
  expect(await answerTo({ text: "x", usage: null })).toMatchObject({ ok: true, charged: false, usage: NO_USAGE });
});

test.each(["-1", "[1, 2]", '"7"'])(
  "%s answered tokens are no usage that is known: it would widen a budget",
  async (told) => {
    const answer = await answerTo({ text: "x", usage: { prompt: 5, completion: JSON.parse(told) } });
    expect(answer).toMatchObject({ ok: true, charged: false, usage: NO_USAGE });
  },
);

test("a text cut at the token limit says so, also where thinking took all tokens", async () => {
  expect(await answerTo({ text: "half an", finish: "length" })).toMatchObject({
    ok: true,
    turn: { text: "half an", stop: "length" },
  });
  expect(await answerTo({ text: "", thinking: "hm", finish: "length" })).toMatchObject({
    ok: true,
    turn: { text: "", stop: "length" },
  });
});

test("system prompt, tools, tool calls and their results go to the model, with ids of calls by their places", async () => {
  const use = { id: "call_7", name: "read", arguments: { path: "a.txt", deep: { list: [1, null] } } };
  const { server, model } = await serve([{ text: "let me see", tools: [use] }, { text: "done" }]);
  const question: ModelMessage = { role: "user", text: "what is in a.txt?" };
  const first = turnOf(await ask(model, { system: "Be brief.", messages: [question], tools: [READ] }));
  expect(first).toMatchObject({ text: "let me see", toolUses: [use], stop: "tools" });
  // A journal keeps the turn as JSON.
  const kept: ModelTurn = JSON.parse(JSON.stringify(first));
  const messages: ModelMessage[] = [
    question,
    { role: "assistant", answer: kept },
    { role: "tool", use, text: "", isError: false },
  ];
  expect(turnOf(await ask(model, { system: "Be brief.", messages, tools: [READ] })).text).toBe("done");
  const [, second] = server.requests;
  expect(second?.body.tools?.[0]?.function).toMatchObject(READ);
  expect(second?.body.messages).toMatchObject([
    { role: "system", content: "Be brief." },
    { role: "user", content: "what is in a.txt?" },
    { role: "assistant", content: "let me see", tool_calls: [{ id: "call00001", function: { name: "read" } }] },
    { role: "tool", tool_call_id: "call00001", content: "(empty)" },
  ]);
  expect(JSON.stringify(second?.body.messages)).toContain(JSON.stringify(JSON.stringify(use.arguments)));
});

const HANGING: readonly [string, ScriptedAnswer, awaited: string][] = [
  ["before the headers", { delayMs: 60_000 }, "first token"],
  ["inside of the body", { text: "half", end: "stuck" }, "whole answer"],
  ["in a slow body", { text: "x".repeat(500), pieces: 500, pieceMs: 20 }, "whole answer"],
];

test.each(HANGING)("a timeout %s ends the request and its connection", async (_where, scripted, awaited) => {
  const { server, model } = await serve([scripted]);
  const answer = await ask(model, { timeoutMs: 200 });
  expect(answer).toMatchObject({ ok: false, charged: false, error: { code: "timeout", retriable: true } });
  expect(messageOf(answer)).toBe(`local/scripted: no ${awaited} within 200 ms`);
  await vi.waitFor(() => expect(server.requests[0]?.disconnected).toBe(true));
});

/** Undici tells of each piece of a body that has come. */
const PIECE = "undici:request:bodyChunkReceived";

test.each(HANGING)("an abort %s ends the request and its connection", async (_where, scripted) => {
  const cancel = new AbortController();
  const { server, model } = await serve([scripted]);
  // The list of models has a body too.
  await model.askWindow?.();
  const abort = () => cancel.abort();
  subscribe(PIECE, abort);
  onTestFinished(() => void unsubscribe(PIECE, abort));
  const answer = ask(model, {}, cancel.signal);
  await vi.waitFor(() => expect(server.requests).toHaveLength(1));
  if (scripted.delayMs !== undefined) abort();
  expect(await answer).toMatchObject({ ok: false, charged: false, error: { code: "cancelled", retriable: true } });
  await vi.waitFor(() => expect(server.requests[0]?.disconnected).toBe(true));
});

test("nothing is sent where the signal has aborted before", async () => {
  const { server, model } = await serve([]);
  expect(await ask(model, {}, AbortSignal.abort())).toMatchObject({
    ok: false,
    charged: true,
    usage: NO_USAGE,
    error: { code: "cancelled" },
  });
  expect(server.requests).toHaveLength(0);
});

test("thinking is no text, texts are joined, and options reach the provider", async () => {
  const { provider, model } = faux();
  const sent: unknown[] = [];
  const content = [
    fauxThinking("hm"),
    fauxText("one "),
    fauxText("two"),
    fauxToolCall("read", { path: "a" }, { id: "c" }),
  ];
  provider.setResponses([
    (context, options) => {
      const [first] = context.messages;
      const system = first?.role === "system" ? first : undefined;
      sent.push({ system: system?.content, tools: system?.toolsAdded, ...options });
      return fauxAssistantMessage(content, { stopReason: "stop" });
    },
  ]);
  const answer = await ask(model, { system: "s", maxTokens: 77, tools: [READ] });
  expect(turnOf(answer)).toMatchObject({
    text: "one two",
    stop: "tools",
    toolUses: [{ id: "c", name: "read", arguments: { path: "a" } }],
  });
  const options = {
    apiKey: KEY,
    headers: { "x-team": "blue" },
    maxTokens: 77,
    maxRetries: 0,
    tools: [READ],
    system: "s",
  };
  expect(sent).toMatchObject([options]);
  expect(answer.usage.input).toBeGreaterThan(0);
});

test("an SDK that never comes to rest is left behind", async () => {
  const { parts } = faux();
  let sent = 0;
  const streamSimple = () => {
    sent++;
    return createAssistantMessageEventStream();
  };
  const model = piAiModel({ ...parts, load: () => ({ streamSimple }) });
  expect(await ask(model, { timeoutMs: 50 })).toMatchObject({ ok: false, charged: false, error: { code: "timeout" } });
  const cancel = new AbortController();
  const answer = ask(model, {}, cancel.signal);
  await vi.waitFor(() => expect(sent).toBe(2));
  cancel.abort();
  expect(await answer).toMatchObject({ ok: false, error: { code: "cancelled" } });
});

test("an abort before the request is on its way ends it, and no listener stays behind", async () => {
  const { provider, parts, model } = faux();
  provider.setResponses([fauxAssistantMessage("yes"), fauxAssistantMessage("no")]);
  const signal = new AbortController().signal;
  expect(await ask(model, {}, signal)).toMatchObject({ ok: true });
  expect(getEventListeners(signal, "abort")).toEqual([]);
  const cancel = new AbortController();
  const late = piAiModel({
    ...parts,
    authorize: async () => {
      cancel.abort();
      return AUTHORIZATION;
    },
  });
  expect(await ask(late, {}, cancel.signal)).toMatchObject({ ok: false, error: { code: "cancelled" } });
});

test("what throws before the request is on its way is an answer", async () => {
  const { provider, model } = faux();
  provider.unregister();
  const answer = await ask(model);
  expect(answer).toMatchObject({ ok: false, charged: true, error: { code: "provider_error", retriable: false } });
  expect(messageOf(answer)).toContain("No API provider registered");
});
