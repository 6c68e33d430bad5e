import { expect, onTestFinished, test } from "vitest";
import { watchReply } from "../../../../src/models/pi-ai/finish.ts";
import { piAiModel } from "../../../../src/models/pi-ai/model.ts";
import { startModelServer } from "../../../support/model-server.ts";
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
};

test.each<[string, string, readonly object[], object]>([
  ["Anthropic", "anthropic-messages", BODIES.anthropic("end_turn"), { ok: true, turn: { text: "hello", stop: "end" } }],
  ["Anthropic at the limit", "anthropic-messages", BODIES.anthropic("max_tokens"), { turn: { stop: "length" } }],
  ["Anthropic's refusal", "anthropic-messages", BODIES.anthropic("refusal"), { error: { code: "content_filtered" } }],
  ["Anthropic cut", "anthropic-messages", BODIES.anthropic("x").slice(0, 3), { error: { code: "provider_error" } }],
  ["OpenAI's responses", "openai-responses", BODIES.responses("response.completed"), { turn: { stop: "end" } }],
  ["responses at the limit", "openai-responses", BODIES.responses("response.incomplete"), { turn: { stop: "length" } }],
  ["Google", "google-generative-ai", BODIES.google("STOP"), { ok: true, turn: { text: "hello", stop: "end" } }],
  ["Google's filter", "google-generative-ai", BODIES.google("SAFETY"), { error: { code: "content_filtered" } }],
  [
    "Google cut",
    "google-generative-ai",
    BODIES.google(undefined),
    { error: { code: "provider_error", retriable: true } },
  ],
])("%s", async (_name, api, events, expected) => {
  const server = await startModelServer([
    { body: events.map((event) => `${eventLine(event)}data: ${JSON.stringify(event)}\n\n`).join("") },
  ]);
  onTestFinished(() => server.close());
  const { parts } = faux();
  const model = piAiModel({ ...parts, model: { ...parts.model, api, baseUrl: server.url } });
  expect(await ask(model)).toMatchObject(expected);
});

function eventLine(event: object): string {
  return "type" in event ? `event: ${event.type}\n` : "";
}

test("arguments that end too early are not completed, whatever the copy of pi-ai makes of them", async () => {
  const cut = ['{"code":', '"globalThis.x = 12'];
  const server = await startModelServer([{ tools: [{ id: "1", name: "rlm_exec", arguments: cut.join("") }] }]);
  onTestFinished(() => server.close());
  const { parts } = faux();
  const model = piAiModel({ ...parts, model: { ...parts.model, api: "openai-completions", baseUrl: server.url } });
  const problem = expect.stringContaining("not valid JSON");
  expect(await ask(model)).toMatchObject({ turn: { toolUses: [{ arguments: {}, problem }] } });

  async function* events() {
    for (const delta of cut) yield Object({ type: "toolcall_delta", contentIndex: 1, delta });
    yield Object({ type: "done" });
  }
  expect(await watchReply("anthropic-messages", events()).argumentTexts()).toEqual(new Map([[1, cut.join("")]]));
});
