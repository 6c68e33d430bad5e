import type { Json } from "../../runtime/index.ts";
import { parseJson } from "../../src/platform/json.ts";
import type { ScriptedCall, ScriptedReply } from "./case.ts";

/** A reply as an API writes it: the events of a stream, or one whole answer. */
export interface Written {
  readonly events: readonly string[];
  readonly whole: object;
}

/** The four APIs, by what the path of a request ends with. */
export type WireApi = "chat" | "responses" | "anthropic" | "gemini";

/** Writes a reply to the request of this number in the form of an API. */
export const written: Readonly<Record<WireApi, (reply: ScriptedReply, request: number, model: string) => Written>> = {
  chat,
  responses,
  anthropic,
  gemini,
};

const USAGE = { prompt: 20, completion: 5, cached: 0 };

function textsOf({ text }: ScriptedReply): readonly string[] {
  if (text === undefined) return [];
  return typeof text === "string" ? [text] : text;
}

/** A text in the pieces that it comes in. */
function piecesOf(text: string, size: number | undefined): readonly string[] {
  if (size === undefined) return [text];
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += size) pieces.push(text.slice(at, at + size));
  return pieces;
}

function idOf(call: ScriptedCall, request: number, index: number): { readonly id?: Json } {
  if (call.id === null) return {};
  return { id: call.id ?? `call_${request}_${index}` };
}

const nameOf = ({ name = "rlm_exec" }: ScriptedCall): Json => name;

function chat(reply: ScriptedReply, request: number, model: string): Written {
  const { thinking, refusal, calls = [], usage = USAGE, fields = {} } = reply;
  const head = { id: `chat-${request}`, created: 1, model };
  const tool_calls = calls.map((call, index) => ({
    ...idOf(call, request, index),
    type: "function",
    function: { name: nameOf(call), arguments: call.args },
  }));
  const reason = reply.stop ?? (tool_calls.length > 0 ? "tool_calls" : "stop");
  const finish_reason = reply.stop === null ? null : reason;
  const texts = textsOf(reply);
  const content = Array.isArray(reply.text) ? texts.map((text) => ({ type: "text", text })) : (texts[0] ?? null);
  const message = {
    role: "assistant",
    content,
    ...(thinking === undefined ? {} : { reasoning_content: thinking }),
    ...(refusal === undefined ? {} : { refusal }),
    ...(tool_calls.length > 0 ? { tool_calls } : {}),
    ...fields,
  };
  const tokens = {
    prompt_tokens: usage.prompt,
    completion_tokens: usage.completion,
    total_tokens: usage.prompt + usage.completion,
    prompt_tokens_details: { cached_tokens: usage.cached ?? 0 },
  };
  const deltas = [
    { role: "assistant", ...fields },
    ...(thinking === undefined ? [] : [{ reasoning_content: thinking }]),
    ...texts.flatMap((text) => piecesOf(text, reply.pieces)).map((piece) => ({ content: piece })),
    ...(refusal === undefined ? [] : [{ refusal }]),
    ...tool_calls.map((call, index) => ({ tool_calls: [{ index, ...call }] })),
  ];
  const chunk = (choices: object[]) => ({ ...head, object: "chat.completion.chunk", choices });
  const end = reply.broken
    ? []
    : [
        ...(finish_reason === null ? [] : [chunk([{ index: 0, delta: {}, finish_reason }])]),
        { ...chunk([]), usage: tokens },
      ];
  const events = [...deltas.map((delta) => chunk([{ index: 0, delta, finish_reason: null }])), ...end].map(untyped);
  return {
    events: reply.broken ? events : [...events, "data: [DONE]\n\n"],
    whole: { ...head, object: "chat.completion", choices: [{ index: 0, message, finish_reason }], usage: tokens },
  };
}

function responses(reply: ScriptedReply, request: number, model: string): Written {
  const { thinking, refusal, calls = [], usage = USAGE, fields = {} } = reply;
  const messages = [
    ...textsOf(reply).map((text) => ({ type: "output_text", text, annotations: [] })),
    ...(refusal === undefined ? [] : [{ type: "refusal", refusal }]),
  ];
  const message = { type: "message", id: `msg-${request}`, role: "assistant", status: "completed", content: messages };
  const reasoning = {
    type: "reasoning",
    id: `rs-${request}`,
    summary: [{ type: "summary_text", text: thinking ?? "" }],
  };
  const output = [
    ...(thinking === undefined ? [] : [reasoning]),
    ...(messages.length > 0 ? [{ ...message, ...fields }] : []),
    ...calls.map((call, index) => ({
      type: "function_call",
      id: `fc-${request}-${index}`,
      call_id: idOf(call, request, index).id ?? "",
      name: nameOf(call),
      arguments: call.args,
      status: "completed",
    })),
  ];
  const stop = reply.stop === "length" ? "max_output_tokens" : reply.stop;
  const status = stop ? "incomplete" : "completed";
  const response = {
    id: `resp-${request}`,
    object: "response",
    status,
    model,
    output,
    ...(stop ? { incomplete_details: { reason: stop } } : {}),
    usage: {
      input_tokens: usage.prompt,
      output_tokens: usage.completion,
      total_tokens: usage.prompt + usage.completion,
      input_tokens_details: { cached_tokens: usage.cached ?? 0 },
    },
  };
  const created = { ...response, output: [], status: "in_progress", usage: null, incomplete_details: null };
  const items = output.flatMap((item, output_index) => itemEvents(item, output_index, reply.pieces));
  const end = reply.broken ? [] : [{ type: `response.${status}`, response }];
  return {
    events: [{ type: "response.created", response: created }, ...items, ...end].map(typed),
    whole: response,
  };
}

/** The events of one item of a response. */
function itemEvents(
  item: { readonly type: string; readonly [field: string]: unknown },
  output_index: number,
  pieces: number | undefined,
): { readonly type: string }[] {
  const at = { output_index, item_id: item.id };
  const events: { readonly type: string }[] = [];
  const push = (type: string, more: object) => events.push({ type: `response.${type}`, ...at, ...more });
  if (item.type === "reasoning") {
    push("output_item.added", { item: { ...item, summary: [] } });
    const [part] = item.summary as readonly { readonly text: string }[];
    push("reasoning_summary_part.added", { summary_index: 0, part: { type: "summary_text", text: "" } });
    push("reasoning_summary_text.delta", { summary_index: 0, delta: part?.text ?? "" });
    push("reasoning_summary_part.done", { summary_index: 0, part });
  } else if (item.type === "message") {
    push("output_item.added", { item: { ...item, content: [], status: "in_progress" } });
    const parts = item.content as readonly { type: string; text?: string; refusal?: string }[];
    for (const [content_index, part] of parts.entries()) {
      const isText = part.type === "output_text";
      const empty = isText ? { ...part, text: "" } : { ...part, refusal: "" };
      push("content_part.added", { content_index, part: empty });
      for (const delta of piecesOf(part.text ?? part.refusal ?? "", pieces))
        push(isText ? "output_text.delta" : "refusal.delta", { content_index, delta });
      push("content_part.done", { content_index, part });
    }
  } else {
    push("output_item.added", { item: { ...item, arguments: "", status: "in_progress" } });
    push("function_call_arguments.delta", { delta: item.arguments });
    push("function_call_arguments.done", { arguments: item.arguments });
  }
  push("output_item.done", { item });
  return events;
}

function anthropic(reply: ScriptedReply, request: number, model: string): Written {
  const { thinking, calls = [], usage = USAGE, fields = {} } = reply;
  const content = [
    ...(thinking === undefined ? [] : [{ type: "thinking", thinking, signature: "c2ln" }]),
    ...textsOf(reply)
      .filter((text) => text !== "")
      .map((text) => ({ type: "text", text })),
    ...calls.map((call, index) => ({
      type: "tool_use",
      ...idOf(call, request, index),
      name: nameOf(call),
      input: parseJson(call.args) ?? {},
    })),
  ];
  const names: Readonly<Record<string, string>> = { length: "max_tokens" };
  const reason = reply.stop ?? (calls.length > 0 ? "tool_use" : "end_turn");
  const stop_reason = reply.stop === null ? null : (names[reason] ?? reason);
  const input = {
    input_tokens: usage.prompt - (usage.cached ?? 0),
    cache_read_input_tokens: usage.cached ?? 0,
    cache_creation_input_tokens: 0,
  };
  const stop_details = reply.stop_details === undefined ? {} : { stop_details: reply.stop_details };
  const head = { id: `msg-${request}`, type: "message", role: "assistant", model, stop_sequence: null, ...fields };
  const whole = {
    ...head,
    content,
    stop_reason,
    ...stop_details,
    usage: { ...input, output_tokens: usage.completion },
  };
  const events: { readonly type: string }[] = [];
  const push = (type: string, more: object) => events.push({ type, ...more });
  push("message_start", {
    message: { ...head, content: [], stop_reason: null, usage: { ...input, output_tokens: 1 } },
  });
  const asked = content.length - calls.length;
  for (const [index, block] of content.entries()) {
    push("content_block_start", { index, content_block: { ...block, ...BLANK[block.type] } });
    const deltas = deltasOf(block, calls[index - asked]?.args ?? "", reply.pieces);
    for (const delta of deltas) push("content_block_delta", { index, delta });
    push("content_block_stop", { index });
  }
  if (!reply.broken) {
    push("message_delta", {
      delta: { stop_reason, stop_sequence: null, ...stop_details },
      usage: { output_tokens: usage.completion },
    });
    push("message_stop", {});
  }
  return { events: events.map(typed), whole };
}

/** What the first event of a block has in place of what its deltas bring. */
const BLANK: Readonly<Record<string, object>> = {
  thinking: { thinking: "", signature: "" },
  text: { text: "" },
  tool_use: { input: {} },
};

function deltasOf(
  block: { readonly type: string; readonly text?: string; readonly thinking?: string },
  args: string,
  pieces: number | undefined,
): readonly object[] {
  if (block.type === "text") return piecesOf(block.text ?? "", pieces).map((text) => ({ type: "text_delta", text }));
  if (block.type === "tool_use") return [{ type: "input_json_delta", partial_json: args }];
  return [
    { type: "thinking_delta", thinking: block.thinking ?? "" },
    { type: "signature_delta", signature: "c2ln" },
  ];
}

function gemini(reply: ScriptedReply, request: number, model: string): Written {
  const { thinking, calls = [], usage = USAGE, block, fields = {} } = reply;
  const parts = [
    ...(thinking === undefined ? [] : [{ text: thinking, thought: true }]),
    ...textsOf(reply)
      .flatMap((text) => piecesOf(text, reply.pieces))
      .map((text) => ({ text })),
    ...calls.map((call, index) => ({
      functionCall: { ...idOf(call, request, index), name: nameOf(call), args: parseJson(call.args) },
    })),
  ];
  const names: Readonly<Record<string, string>> = { length: "MAX_TOKENS" };
  const reason = reply.stop ?? "STOP";
  const finishReason = reply.stop === null ? {} : { finishReason: names[reason] ?? reason };
  const usageMetadata = {
    promptTokenCount: usage.prompt,
    candidatesTokenCount: usage.completion,
    totalTokenCount: usage.prompt + usage.completion,
    cachedContentTokenCount: usage.cached ?? 0,
  };
  const head = { modelVersion: model, responseId: `gem-${request}`, usageMetadata };
  if (block !== undefined) {
    const blocked = { ...head, promptFeedback: { blockReason: block } };
    return { events: [untyped(blocked)], whole: blocked };
  }
  const candidate = { content: { role: "model", parts }, index: 0, ...fields };
  const chunks = parts.map((part) => ({
    ...head,
    candidates: [{ content: { role: "model", parts: [part] }, index: 0 }],
  }));
  const last = {
    ...head,
    candidates: [{ content: { role: "model", parts: [] }, index: 0, ...fields, ...finishReason }],
  };
  return {
    events: (reply.broken ? chunks : [...chunks, last]).map(untyped),
    whole: { ...head, candidates: [{ ...candidate, ...finishReason }] },
  };
}

const untyped = (event: object) => `data: ${JSON.stringify(event)}\n\n`;
const typed = (event: { readonly type: string }) => `event: ${event.type}\n${untyped(event)}`;
