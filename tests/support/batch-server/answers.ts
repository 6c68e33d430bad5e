import { isRecord } from "../../../src/platform/json.ts";
import type { BatchApi } from "../../../src/provider-batches/providers/index.ts";
import type { ScriptedAnswer } from "../model-server.ts";

/** The answer to a row or a live request. Without any field: the text "ok". `finish: "length"`: it is cut. */
export type ScriptedRow = Pick<ScriptedAnswer, "text" | "tools" | "finish" | "usage" | "status"> & {
  /** The words of a failure, with a `status`. */
  readonly message?: string;
};

/** A row or a live request. */
export interface Asked {
  readonly api: BatchApi;
  readonly model: string;
  /** The text of its last message. */
  readonly prompt: string;
  readonly body: unknown;
  /** null: it is live. */
  readonly custom_id: string | null;
}

export interface Answered {
  readonly status: number;
  /** As the answer is without a stream. */
  readonly body: object;
  /** As it is streamed. */
  readonly events: string;
}

/** An answer as a provider writes it. */
export function written(asked: Asked, answer: ScriptedRow): Answered {
  const { status = 200, message = `scripted ${status}` } = answer;
  if (status !== 200) return { status, body: failureOf(asked.api, status, message), events: "" };
  const { body, events } = WRITERS[asked.api](saidOf(asked, answer));
  return { status, body, events: events.map(sse).join("") };
}

/** The text of the last message. */
export function promptOf(body: unknown): string {
  if (!isRecord(body)) return "";
  return textOf(body.messages ?? body.input ?? body.contents);
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return textOf(value.at(-1));
  if (!isRecord(value)) return typeof value === "string" ? value : "";
  return textOf(value.content ?? value.parts ?? value.text ?? value.output ?? value.functionResponse ?? "");
}

const FAILURES: Readonly<Record<number, readonly [anthropic: string, rpc: number]>> = {
  400: ["invalid_request_error", 3],
  401: ["authentication_error", 16],
  403: ["permission_error", 7],
  404: ["not_found_error", 5],
  429: ["rate_limit_error", 8],
  500: ["api_error", 13],
  529: ["overloaded_error", 14],
};

/** @property code of Gemini: HTTP's, or in a row that of google.rpc */
export function failureOf(api: BatchApi, status: number, message: string, isRow = false): object {
  const [type, rpc] = FAILURES[status] ?? ["api_error", 13];
  if (api === "anthropic-messages") return { type: "error", error: { type, message }, request_id: "req_1" };
  if (api === "google-generative-ai") return { error: { code: isRow ? rpc : status, message, status: type } };
  return { error: { message, type, param: null, code: null } };
}

interface Said {
  readonly id: string;
  readonly model: string;
  readonly text: string;
  readonly tools: NonNullable<ScriptedAnswer["tools"]>;
  readonly isCut: boolean;
  /** `input` includes what was cached. */
  readonly usage: { readonly input: number; readonly output: number; readonly cached: number };
}

let ids = 0;

function saidOf({ model, body }: Asked, { tools = [], text, finish, usage }: ScriptedRow): Said {
  const said = text ?? (tools.length > 0 ? "" : "ok");
  const {
    prompt,
    completion,
    cached = 0,
  } = usage ?? {
    ...{
      prompt: Math.ceil(JSON.stringify(body).length / 4),
      completion: Math.ceil((said.length + 20 * tools.length) / 4),
    },
  };
  const counted = { input: prompt, output: completion, cached };
  return { id: `a${ids++}`, model, text: said, tools, isCut: finish === "length", usage: counted };
}

interface Written {
  readonly body: object;
  /** `{ type }` gives an event its name. */
  readonly events: readonly (object | "[DONE]")[];
}

const WRITERS: Readonly<Record<BatchApi, (said: Said) => Written>> = {
  "openai-completions": completion,
  "openai-responses": response,
  "anthropic-messages": message,
  "google-generative-ai": generated,
};

function completion({ id, model, text, tools, isCut, usage }: Said): Written {
  const head = { id: `chatcmpl-${id}`, created: 1, model };
  const tool_calls = tools.map((tool, index) => {
    const call = { name: tool.name, arguments: JSON.stringify(tool.arguments) };
    return { index, id: tool.id, type: "function", function: call };
  });
  const finish_reason = isCut ? "length" : tools.length > 0 ? "tool_calls" : "stop";
  const message = { role: "assistant", content: text || null, ...(tools.length > 0 ? { tool_calls } : {}) };
  const counts = {
    ...{ prompt_tokens: usage.input, completion_tokens: usage.output, total_tokens: usage.input + usage.output },
    prompt_tokens_details: { cached_tokens: usage.cached },
  };
  const chunk = (rest: object) => ({ ...head, object: "chat.completion.chunk", ...rest });
  const choice = (delta: object, end: string | null) => chunk({ choices: [{ index: 0, delta, finish_reason: end }] });
  return {
    body: { ...head, object: "chat.completion", choices: [{ index: 0, message, finish_reason }], usage: counts },
    events: [choice(message, null), choice({}, finish_reason), chunk({ choices: [], usage: counts }), "[DONE]"],
  };
}

function response({ id, model, text, tools, isCut, usage }: Said): Written {
  const content = [{ type: "output_text", text, annotations: [] }];
  const spoken = { type: "message", id: `msg-${id}`, role: "assistant", status: "completed", content };
  const calls = tools.map((tool) => {
    const call = { id: `fc-${tool.id}`, call_id: tool.id, name: tool.name, arguments: JSON.stringify(tool.arguments) };
    return { type: "function_call", status: "completed", ...call };
  });
  const body = {
    ...{ id: `resp-${id}`, object: "response", model, output: [...(text ? [spoken] : []), ...calls] },
    ...(isCut
      ? { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }
      : { status: "completed" }),
    usage: {
      ...{ input_tokens: usage.input, output_tokens: usage.output, total_tokens: usage.input + usage.output },
      input_tokens_details: { cached_tokens: usage.cached },
      output_tokens_details: { reasoning_tokens: 0 },
    },
  };
  const items = body.output.flatMap((item, output_index) => {
    const opened = "content" in item ? { ...item, content: [] } : { ...item, arguments: "" };
    const at = { output_index, item_id: item.id };
    const inner =
      "content" in item
        ? [
            { type: "response.content_part.added", ...at, content_index: 0, part: { ...content[0], text: "" } },
            { type: "response.output_text.delta", ...at, content_index: 0, delta: text },
          ]
        : [{ type: "response.function_call_arguments.done", ...at, arguments: item.arguments }];
    const added = { type: "response.output_item.added", output_index, item: opened };
    return [added, ...inner, { type: "response.output_item.done", output_index, item }];
  });
  const created = { type: "response.created", response: { ...body, output: [], status: "in_progress" } };
  const end = { type: isCut ? "response.incomplete" : "response.completed", response: body };
  return { body, events: [created, ...items, end] };
}

function message({ id, model, text, tools, isCut, usage }: Said): Written {
  const texts = text ? [{ type: "text", text }] : [];
  const uses = tools.map((tool) => ({ type: "tool_use", id: tool.id, name: tool.name, input: tool.arguments }));
  const stop = { stop_reason: isCut ? "max_tokens" : tools.length > 0 ? "tool_use" : "end_turn", stop_sequence: null };
  const head = { id: `msg_${id}`, type: "message", role: "assistant", model };
  const cache = { cache_read_input_tokens: usage.cached, cache_creation_input_tokens: 0 };
  const counts = { input_tokens: usage.input - usage.cached, output_tokens: usage.output, ...cache };
  const content = [...texts, ...uses];
  const blocks = content.flatMap((block, index) => {
    const isText = "text" in block;
    const content_block = isText ? { ...block, text: "" } : { ...block, input: {} };
    const delta = isText
      ? { type: "text_delta", text: block.text }
      : { type: "input_json_delta", partial_json: JSON.stringify(block.input) };
    const started = { type: "content_block_start", index, content_block };
    return [started, { type: "content_block_delta", index, delta }, { type: "content_block_stop", index }];
  });
  const open = { ...head, content: [], stop_reason: null, stop_sequence: null, usage: { ...counts, output_tokens: 1 } };
  const end = { type: "message_delta", delta: stop, usage: { output_tokens: usage.output } };
  return {
    body: { ...head, content, ...stop, usage: counts },
    events: [{ type: "message_start", message: open }, ...blocks, end, { type: "message_stop" }],
  };
}

function generated({ id, model, text, tools, isCut, usage }: Said): Written {
  const calls = tools.map((tool) => ({ functionCall: { name: tool.name, args: tool.arguments } }));
  const content = { role: "model", parts: [...(text ? [{ text }] : []), ...calls] };
  const body = {
    candidates: [{ content, finishReason: isCut ? "MAX_TOKENS" : "STOP", index: 0 }],
    usageMetadata: {
      ...{ promptTokenCount: usage.input, candidatesTokenCount: usage.output },
      ...{ totalTokenCount: usage.input + usage.output, cachedContentTokenCount: usage.cached },
    },
    ...{ modelVersion: model, responseId: id },
  };
  return { body, events: [body] };
}

function sse(event: object | "[DONE]"): string {
  const name = typeof event === "object" && "type" in event ? `event: ${event.type}\n` : "";
  return `${name}data: ${typeof event === "object" ? JSON.stringify(event) : event}\n\n`;
}
