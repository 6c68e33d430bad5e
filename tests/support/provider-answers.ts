import type { Json } from "../../runtime/index.ts";
import type { BatchApi } from "../../src/provider-batches/providers/index.ts";

/** Parts of an answer, in their order. */
export interface Said {
  readonly thinking?: string;
  readonly text?: string;
  readonly tools?: readonly {
    readonly id: string;
    readonly name: string;
    readonly arguments: { [key: string]: Json };
  }[];
  /** Cut at the limit of tokens. */
  readonly cut?: boolean;
}

/** One answer in its two forms: the body of a row of a batch, and the text of a live stream in small pieces. */
export interface ProviderAnswer {
  readonly row: { [key: string]: Json };
  readonly stream: string;
}

/** An API whose requests can go by batches, as tests of all of them need it. */
interface TriedApi {
  /** A model that has it, as users name it; `mine/m`: one of the user's own. */
  readonly model: string;
  /** `{ temperature: 0.5, seed: 7, stop: ["END"] }` as a row has it, and the parameters that it does not have. */
  readonly sampled: object;
  readonly ignored: readonly string[];
}

export const TRIED: Readonly<Record<BatchApi, TriedApi>> = {
  "openai-completions": { model: "mine/m", sampled: { temperature: 0.5, seed: 7, stop: ["END"] }, ignored: [] },
  "openai-responses": { model: "openai/gpt-4.1", sampled: { temperature: 0.5 }, ignored: ["seed", "stop"] },
  "anthropic-messages": {
    model: "anthropic/claude-sonnet-4-5",
    sampled: { temperature: 0.5, stop_sequences: ["END"] },
    ignored: ["seed"],
  },
  "google-generative-ai": {
    model: "google/gemini-2.5-pro",
    sampled: { generationConfig: { temperature: 0.5, seed: 7, stopSequences: ["END"] } },
    ignored: [],
  },
};

/** Made by hand as the providers write them, not by the code under test. 20 tokens in, 8 of them cached, and 5 out. */
export const answerOf: Readonly<Record<BatchApi, (said: Said) => ProviderAnswer>> = {
  "openai-completions": chat,
  "openai-responses": responses,
  "anthropic-messages": anthropic,
  "google-generative-ai": gemini,
};

function chat({ thinking, text: said, tools = [], cut }: Said): ProviderAnswer {
  const text = said ?? null;
  const head = { id: "chat-1", created: 1, model: "m" };
  const details = { prompt_tokens_details: { cached_tokens: 8 } };
  const usage = { prompt_tokens: 20, completion_tokens: 5, total_tokens: 25, ...details };
  const finish_reason = cut ? "length" : tools.length > 0 ? "tool_calls" : "stop";
  const calls = tools.map((tool) => ({
    id: tool.id,
    type: "function",
    function: { name: tool.name, arguments: JSON.stringify(tool.arguments) },
  }));
  const thought = thinking === undefined ? {} : { reasoning_content: thinking };
  const used = calls.length === 0 ? {} : { tool_calls: calls };
  const message = { role: "assistant", content: text, refusal: null, ...thought, ...used };
  const deltas = [
    { role: "assistant", content: text === null ? null : "" },
    ...letters(thinking).map((letter) => ({ reasoning_content: letter })),
    ...letters(text).map((content) => ({ content })),
    ...calls.flatMap((call, index) => [
      { tool_calls: [{ index, ...call, function: { ...call.function, arguments: "" } }] },
      { tool_calls: [{ index, function: { arguments: call.function.arguments } }] },
    ]),
  ];
  const chunk = (choices: object[]) => ({ ...head, object: "chat.completion.chunk", choices });
  return {
    row: { ...head, object: "chat.completion", choices: [{ index: 0, message, logprobs: null, finish_reason }], usage },
    stream: events([
      ...deltas.map((delta) => chunk([{ index: 0, delta, finish_reason: null }])),
      chunk([{ index: 0, delta: {}, finish_reason }]),
      { ...chunk([]), usage },
      "[DONE]",
    ]),
  };
}

function responses({ thinking, text, tools = [], cut }: Said): ProviderAnswer {
  const status = cut ? "incomplete" : "completed";
  const content = (of: string) => ({ type: "output_text", text: of, annotations: [] });
  const summary = (of: string) => ({ type: "summary_text", text: of });
  const calls = tools.map((tool, index) => ({
    type: "function_call",
    id: `fc-${index}`,
    call_id: tool.id,
    name: tool.name,
    arguments: JSON.stringify(tool.arguments),
    status: "completed",
  }));
  const thoughts =
    thinking === undefined
      ? []
      : [{ type: "reasoning", id: "rs-1", summary: [summary(thinking)], encrypted_content: "c2VjcmV0" }];
  const said =
    text === undefined ? [] : [{ type: "message", id: "msg-1", role: "assistant", status, content: [content(text)] }];
  const output = [...thoughts, ...said, ...calls];
  const usage = { input_tokens: 20, output_tokens: 5, total_tokens: 25, input_tokens_details: { cached_tokens: 8 } };
  const why = cut ? { incomplete_details: { reason: "max_output_tokens" } } : {};
  const row = { id: "resp-1", object: "response", status, model: "m", output, usage, ...why };
  const stream: { type: string }[] = [
    { type: "response.created", ...{ response: { ...row, output: [], status: "in_progress", usage: null } } },
  ];
  for (const [output_index, item] of output.entries()) {
    const at = { output_index, item_id: item.id };
    const push = (type: string, more: object) => stream.push({ type: `response.${type}`, ...at, ...more });
    if (item.type === "reasoning") {
      push("output_item.added", { item: { ...item, summary: [], encrypted_content: "" } });
      push("reasoning_summary_part.added", { summary_index: 0, part: summary("") });
      for (const delta of letters(thinking)) push("reasoning_summary_text.delta", { summary_index: 0, delta });
      push("reasoning_summary_part.done", { summary_index: 0, part: summary(thinking ?? "") });
    } else if (item.type === "message") {
      push("output_item.added", { item: { ...item, content: [], status: "in_progress" } });
      push("content_part.added", { content_index: 0, part: content("") });
      for (const delta of letters(text)) push("output_text.delta", { content_index: 0, delta });
    } else {
      const { arguments: whole } = { arguments: "", ...item };
      push("output_item.added", { item: { ...item, arguments: "", status: "in_progress" } });
      for (const delta of letters(whole)) push("function_call_arguments.delta", { delta });
      push("function_call_arguments.done", { arguments: whole });
    }
    push("output_item.done", { item });
  }
  stream.push({ type: `response.${status}`, ...{ response: row } });
  return { row, stream: typedEvents(stream) };
}

function anthropic({ thinking, text, tools = [], cut }: Said): ProviderAnswer {
  const thoughts =
    thinking === undefined
      ? []
      : [
          { type: "thinking", thinking, signature: "c2ln" },
          { type: "redacted_thinking", data: "aGlkZGVu" },
        ];
  const said = text === undefined ? [] : [{ type: "text", text }];
  const uses = tools.map((tool) => ({ type: "tool_use", id: tool.id, name: tool.name, input: tool.arguments }));
  const content = [...thoughts, ...said, ...uses];
  const stop_reason = cut ? "max_tokens" : tools.length > 0 ? "tool_use" : "end_turn";
  const head = { id: "msg-1", type: "message", role: "assistant", model: "m", stop_sequence: null };
  const input = { input_tokens: 12, cache_read_input_tokens: 8, cache_creation_input_tokens: 0 };
  const usage = { ...input, output_tokens: 5, service_tier: "batch" };
  const stream: { type: string }[] = [
    {
      type: "message_start",
      ...{ message: { ...head, content: [], stop_reason: null, usage: { ...input, output_tokens: 1 } } },
    },
  ];
  for (const [index, block] of content.entries()) {
    const push = (type: string, more: object) => stream.push({ type: `content_block_${type}`, ...{ index }, ...more });
    const delta = (of: object) => push("delta", { delta: of });
    const parts: object[] = [];
    let empty: object = block;
    if (block.type === "text") {
      empty = { type: "text", text: "" };
      parts.push(...letters(text).map((letter) => ({ type: "text_delta", text: letter })));
    } else if (block.type === "thinking") {
      empty = { type: "thinking", thinking: "", signature: "" };
      parts.push(...letters(thinking).map((letter) => ({ type: "thinking_delta", thinking: letter })));
      parts.push({ type: "signature_delta", signature: "c2ln" });
    } else if (block.type === "tool_use") {
      const { input: whole } = { input: {}, ...block };
      empty = { ...block, input: {} };
      const json = letters(JSON.stringify(whole));
      parts.push(...json.map((partial_json) => ({ type: "input_json_delta", partial_json })));
    }
    push("start", { content_block: empty });
    for (const part of parts) delta(part);
    push("stop", {});
  }
  const end = { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } };
  stream.push({ type: "message_delta", ...end }, { type: "message_stop" });
  return { row: { ...head, content, stop_reason, usage }, stream: typedEvents(stream) };
}

function gemini({ thinking, text, tools = [], cut }: Said): ProviderAnswer {
  const thought = (of: string) => ({ text: of, thought: true });
  const calls = tools.map(({ id, name, arguments: args }) => ({
    functionCall: { id, name, args },
    thoughtSignature: "c2ln",
  }));
  const parts = [
    ...(thinking === undefined ? [] : [thought(thinking)]),
    ...(text === undefined ? [] : [{ text }]),
    ...calls,
  ];
  const usageMetadata = {
    promptTokenCount: 20,
    candidatesTokenCount: 3,
    thoughtsTokenCount: 2,
    totalTokenCount: 25,
    cachedContentTokenCount: 8,
  };
  const finishReason = cut ? "MAX_TOKENS" : "STOP";
  const head = { modelVersion: "m", responseId: "gem-1" };
  const chunk = (part: object) => ({
    ...head,
    candidates: [{ content: { role: "model", parts: [part] }, index: 0 }],
    usageMetadata: { promptTokenCount: 20, totalTokenCount: 20 },
  });
  const pieces = [...letters(thinking).map(thought), ...letters(text).map((letter) => ({ text: letter })), ...calls];
  const last = { ...head, candidates: [{ content: { role: "model", parts: [] }, finishReason, index: 0 }] };
  return {
    row: { ...head, candidates: [{ content: { role: "model", parts }, finishReason, index: 0 }], usageMetadata },
    stream: events([...pieces.map(chunk), { ...last, usageMetadata }]),
  };
}

function letters(text: string | null | undefined): string[] {
  return [...(text ?? "")];
}

function events(list: readonly (object | string)[]): string {
  return list.map((event) => `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`).join("");
}

function typedEvents(list: readonly { readonly type: string }[]): string {
  return list.map((event) => `event: ${event.type}\n${events([event])}`).join("");
}
