import * as ofNewPi from "@earendil-works/pi-ai/compat";
import * as ofOldPi from "@mariozechner/pi-ai";
import { expect, onTestFinished, test } from "vitest";
import { loadPiAi } from "../../../../src/models/pi-ai/catalog.ts";
import { piAiModel } from "../../../../src/models/pi-ai/model.ts";
import type { ModelAnswer } from "../../../../src/models/port.ts";
import { type ScriptedAnswer, startModelServer } from "../../../support/model-server.ts";
import { ask, faux } from "../../../support/scripted-model.ts";

/** Events of other protocols, as their servers send them. */
const BODIES = {
  anthropic: (stop_reason: string) => [
    { type: "message_start", message: { id: "m", role: "assistant", content: [], usage: { input_tokens: 11 } } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "hello" } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason }, usage: { output_tokens: 5 } },
    { type: "message_stop" },
  ],
  responses: (last: string) => [
    { type: "response.output_item.added", output_index: 0, item: { type: "message", id: "i", content: [] } },
    { type: "response.content_part.added", content_index: 0, part: { type: "output_text", text: "" } },
    { type: "response.output_text.delta", output_index: 0, content_index: 0, delta: "hello" },
    {
      type: "response.output_item.done",
      output_index: 0,
      item: { type: "message", id: "i", content: [{ type: "output_text", text: "hello" }] },
    },
    {
      type: last,
      response: {
        id: "r",
        status: last.slice("response.".length),
        incomplete_details: { reason: "max_output_tokens" },
        usage: { output_tokens: 5 },
      },
    },
  ],
  google: (finishReason: string | undefined) => [
    { candidates: [{ content: { role: "model", parts: [{ text: "hello" }] }, finishReason }] },
  ],
  mistral: (finish_reason: string | null) => [
    { id: "m", model: "m", created: 1, choices: [{ index: 0, delta: { content: "hello" }, finish_reason }] },
  ],
};

/** Belay's copy of pi-ai, and those that Pi lends. */
const COPIES = { own: loadPiAi(), "of Pi 0.73": ofOldPi, "of Pi 0.87": ofNewPi };

/** The answer of a server, as the model reads it with each copy of pi-ai. */
async function answers(api: string, script: ScriptedAnswer): Promise<{ readonly [copy: string]: ModelAnswer }> {
  const server = await startModelServer(() => script);
  onTestFinished(() => server.close());
  const { parts } = faux();
  const read = Object.entries(COPIES).map(async ([name, { streamSimple }]) => {
    const load = () => ({ streamSimple: (...request: unknown[]) => Reflect.apply(streamSimple, undefined, request) });
    const model = piAiModel({ ...parts, load, model: { ...parts.model, api, baseUrl: server.url } });
    // The first request to a protocol loads the SDK of its provider, within the time of the request.
    return [name, await ask(model, { timeoutMs: 50_000 })] as const;
  });
  return Object.fromEntries(await Promise.all(read));
}

const withEach = (expected: object) => ({ own: expected, "of Pi 0.73": expected, "of Pi 0.87": expected });
const BROKEN_OFF = {
  ok: false,
  error: {
    code: "provider_error",
    retriable: true,
    message: expect.stringContaining("the answer broke off before its end"),
  },
};

test.each<[string, string, readonly object[], object]>([
  ["Anthropic", "anthropic-messages", BODIES.anthropic("end_turn"), { ok: true, turn: { text: "hello", stop: "end" } }],
  ["Anthropic at the limit", "anthropic-messages", BODIES.anthropic("max_tokens"), { turn: { stop: "length" } }],
  ["Anthropic's refusal", "anthropic-messages", BODIES.anthropic("refusal"), { error: { code: "content_filtered" } }],
  ["Anthropic cut", "anthropic-messages", BODIES.anthropic("x").slice(0, 3), BROKEN_OFF],
  ["OpenAI's responses", "openai-responses", BODIES.responses("response.completed"), { turn: { stop: "end" } }],
  ["responses at the limit", "openai-responses", BODIES.responses("response.incomplete"), { turn: { stop: "length" } }],
  ["responses cut", "openai-responses", BODIES.responses("response.completed").slice(0, -1), BROKEN_OFF],
  ["Google", "google-generative-ai", BODIES.google("STOP"), { ok: true, turn: { text: "hello", stop: "end" } }],
  ["Google's filter", "google-generative-ai", BODIES.google("SAFETY"), { error: { code: "content_filtered" } }],
  ["Google cut", "google-generative-ai", BODIES.google(undefined), BROKEN_OFF],
  ["Mistral", "mistral-conversations", BODIES.mistral("stop"), { ok: true, turn: { text: "hello", stop: "end" } }],
  ["Mistral cut", "mistral-conversations", BODIES.mistral(null), BROKEN_OFF],
])("with each copy of pi-ai: %s", async (_name, api, events, expected) => {
  const body = events.map((event) => `${eventLine(event)}data: ${JSON.stringify(event)}\n\n`).join("");
  expect(await answers(api, { body })).toMatchObject(withEach(expected));
});

test("bytes of a stream that are not UTF-8 are told, with each copy of pi-ai", async () => {
  const chat = (content: string) => [{ choices: [{ index: 0, delta: { content }, finish_reason: "stop" }] }];
  const bodyOf = (content: string, encoding: BufferEncoding) =>
    Buffer.from(
      chat(content)
        .map((event) => `data: ${JSON.stringify(event)}\n\n`)
        .join(""),
      encoding,
    );
  const told = { text: "caf\ufffd", mended: ["bytes that are not UTF-8"] };
  expect(await answers("openai-completions", { body: bodyOf("café", "latin1") })).toMatchObject(
    withEach({ turn: told }),
  );
  // A model may have written the character itself.
  const own = await answers("openai-completions", { body: bodyOf("caf\ufffd", "utf8") });
  for (const answer of Object.values(own)) expect(answer).not.toHaveProperty("turn.mended");
});

/** A second answer to one request, as its pieces come between those of the first. */
const SECOND = {
  "openai-completions": (index: number, content: string, finish_reason: string | null) => ({
    choices: [{ index, delta: { content }, finish_reason }],
  }),
  "mistral-conversations": (index: number, content: string, finish_reason: string | null) => ({
    ...{ id: "m", model: "m", created: 1 },
    choices: [{ index, delta: { content }, finish_reason }],
  }),
  "google-generative-ai": (index: number, text: string, finish: string | null) => ({
    candidates: [{ index, content: { role: "model", parts: [{ text }] }, ...(finish ? { finishReason: "STOP" } : {}) }],
  }),
};

test.each(Object.entries(SECOND))(
  "a second answer in a stream is left out and told, with each copy of pi-ai: %s",
  async (api, event) => {
    const bodyOf = (events: readonly object[]) => events.map((one) => `data: ${JSON.stringify(one)}\n\n`).join("");
    const own = [event(0, "he", null), event(0, "llo", "stop")];
    const [first, last] = own;
    const both = [first ?? {}, event(1, "good", null), event(1, "bye", "stop"), last ?? {}];
    const told = { ok: true, turn: { text: "hello", mended: ["answers beside the first"] } };
    expect(await answers(api, { body: bodyOf(both) })).toMatchObject(withEach(told));
    const alone = await answers(api, { body: bodyOf(own) });
    expect(alone).toMatchObject(withEach({ ok: true, turn: { text: "hello" } }));
    for (const answer of Object.values(alone)) expect(answer).not.toHaveProperty("turn.mended");
  },
);

test("what follows the end of an answer is told, and another answer is left out", async () => {
  const chunk = (id: string, content: string, finish_reason: string | null) => ({
    id,
    choices: [{ index: 0, delta: { content }, finish_reason }],
  });
  const bodyOf = (...events: readonly object[]) =>
    events.map((one) => `${eventLine(one)}data: ${JSON.stringify(one)}\n\n`).join("");
  const chat = (...events: readonly object[]) => answers("openai-completions", { body: bodyOf(...events) });
  expect(await chat(chunk("a", "hello", "stop"), chunk("b", "bye", "stop"))).toMatchObject(
    withEach({ turn: { text: "hello", mended: ["answers beside the first"] } }),
  );
  expect(await chat(chunk("a", "hel", "stop"), chunk("a", "lo", "stop"))).toMatchObject(
    withEach({ turn: { text: "hello", mended: ["words behind its end"] } }),
  );
  const twice = [...BODIES.anthropic("end_turn"), ...BODIES.anthropic("end_turn")];
  expect(await answers("anthropic-messages", { body: bodyOf(...twice) })).toMatchObject(
    withEach({ turn: { text: "hello", mended: ["answers beside the first"] } }),
  );
});

test("an event of Anthropic whose block has not begun fails the answer", async () => {
  const [start, begun, ...rest] = BODIES.anthropic("end_turn");
  const late = { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: " lost" } };
  const body = [start, begun, late, ...rest].map((one) => `data: ${JSON.stringify(one)}\n\n`).join("");
  const error = { code: "provider_error", message: expect.stringContaining("block 1 has not begun") };
  expect(await answers("anthropic-messages", { body })).toMatchObject(withEach({ ok: false, error }));
});

function eventLine(event: object): string {
  return "type" in event ? `event: ${event.type}\n` : "";
}

test("a chat stream that ends without a reason is broken off, with each copy of pi-ai", async () => {
  expect(await answers("openai-completions", { text: "hello" })).toMatchObject(withEach({ turn: { text: "hello" } }));
  expect(await answers("openai-completions", { text: "hello", finish: null })).toMatchObject(withEach(BROKEN_OFF));
  const quoted = { text: '{"finish_reason":"stop"}', finish: null };
  expect(await answers("openai-completions", quoted)).toMatchObject(withEach(BROKEN_OFF));
});

test.each(["openai-completions", "anthropic-messages"])(
  "arguments that end too early are not completed, whatever the copy of pi-ai makes of them: %s",
  async (api) => {
    const cut = '{"code":"globalThis.x = 12';
    const [start, , , stop, end, last] = BODIES.anthropic("tool_use");
    const use = { type: "tool_use", id: "1", name: "rlm_exec", input: {} };
    const delta = { type: "input_json_delta", partial_json: cut };
    const parts = [
      { type: "content_block_start", index: 0, content_block: use },
      { type: "content_block_delta", index: 0, delta },
    ];
    const events = [start, ...parts, stop, end, last].flatMap((event) => event ?? []);
    const script =
      api === "openai-completions"
        ? { tools: [{ id: "1", name: "rlm_exec", arguments: cut }] }
        : { body: events.map((event) => `${eventLine(event)}data: ${JSON.stringify(event)}\n\n`).join("") };
    const problem = expect.stringContaining("not valid JSON");
    expect(await answers(api, script)).toMatchObject(withEach({ turn: { toolUses: [{ arguments: {}, problem }] } }));
  },
);
