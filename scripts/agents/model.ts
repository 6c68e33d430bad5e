import type { ScriptedAnswer, SeenRequest } from "../../tests/support/model-server.ts";

/** A call of one of Belay's tools that an agent's model makes. */
export interface PlannedCall {
  readonly tool: string;
  readonly args: object;
}

interface Offered {
  readonly name: string;
  /** Codex's name for the server that has the tool. */
  readonly namespace?: string;
}

/** A request of an agent in one of four protocols: chat completions, responses, Gemini's contents and Anthropic's messages. */
interface AgentRequest {
  readonly offered: readonly Offered[];
  /** The answers of tools so far, each as JSON of whatever form. */
  readonly results: readonly string[];
  /** A call, or a text. */
  answer(call: { readonly offered: Offered; readonly args: object } | null, text?: string): ScriptedAnswer;
  /** True if only agents speak this protocol here: Belay's own model does not, so that each request has an answer in it. */
  readonly isAgents?: boolean;
}

interface Part {
  readonly [field: string]: unknown;
}

/** The next call of the plan, or the closing text. null if the request offers none of Belay's tools. */
export function answerTo(request: SeenRequest, plan: readonly PlannedCall[]): ScriptedAnswer | null {
  const read = readRequest(request);
  const next = plan[read.results.length];
  const offered = next && read.offered.find(({ name }) => name.endsWith(next.tool));
  if (offered) return read.answer({ offered, args: next.args });
  // Qwen Code names the tools of servers in a text, and has them called through one of its own.
  const deferred = next && new RegExp(`mcp__belay__${next.tool}\\b`).test(request.sent);
  const through = deferred && read.offered.find(({ name }) => name === "tool_call");
  if (through)
    return read.answer({ offered: through, args: { name: `mcp__belay__${next.tool}`, arguments: next.args } });
  return read.isAgents || read.results.length > 0 ? read.answer(null) : null;
}

/** The answer to an agent that is asked for a text, or for a value: as a call of the tool that its program has for that, else as text. */
export function answerWith(request: SeenRequest, said: string | object): ScriptedAnswer {
  const read = readRequest(request);
  const offered = read.offered.find(({ name }) => name === "StructuredOutput");
  if (typeof said === "string") return read.answer(null, said);
  return offered ? read.answer({ offered, args: said }) : read.answer(null, JSON.stringify(said));
}

/** Tokens that each answer takes, by its protocol's names. */
const TOKENS = { input_tokens: 100, output_tokens: 20 };

/** The answers of tools in a conversation, without the marks that nested JSON escapes with. */
export function resultsIn(request: SeenRequest): readonly string[] {
  return readRequest(request).results.map((result) => result.replaceAll("\\", ""));
}

function readRequest({ sent, index, headers }: SeenRequest): AgentRequest {
  const body: Part = sent === "" ? {} : JSON.parse(sent);
  if (headers["anthropic-version"]) return messagesRequest(body, `call-${index}`);
  if (Array.isArray(body.contents)) return contentsRequest(body);
  if (Array.isArray(body.input)) return responsesRequest(body, `call-${index}`);
  return {
    offered: partsIn(body.tools).flatMap(({ function: tool }) => named(tool)),
    results: partsIn(body.messages).flatMap(({ role, content }) => (role === "tool" ? [JSON.stringify(content)] : [])),
    answer: (call, text = DONE) => {
      if (body.stream !== true) return chatAnswer(call, `call-${index}`);
      return call ? { tools: [{ id: `call-${index}`, name: call.offered.name, arguments: call.args }] } : { text };
    },
  };
}

const DONE = "done";

/** A chat completion that is sent whole, since the request asks for no stream. */
function chatAnswer(call: Parameters<AgentRequest["answer"]>[0], id: string): ScriptedAnswer {
  const made = call && { name: call.offered.name, arguments: JSON.stringify(call.args) };
  const message = made
    ? { role: "assistant", content: null, tool_calls: [{ id, type: "function", function: made }] }
    : { role: "assistant", content: "done" };
  const choices = [{ index: 0, message, finish_reason: made ? "tool_calls" : "stop" }];
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  return { ...JSON_TYPE, body: JSON.stringify({ id, object: "chat.completion", choices, usage }) };
}

function messagesRequest(body: Part, id: string): AgentRequest {
  const said = partsIn(body.messages).flatMap(({ content }) => partsIn(content));
  return {
    isAgents: true,
    offered: partsIn(body.tools).flatMap(named),
    results: said.flatMap(({ type, content }) => (type === "tool_result" ? [JSON.stringify(content)] : [])),
    answer(call, text = DONE) {
      const used = call && { type: "tool_use", id, name: call.offered.name, input: call.args };
      const block = used ?? { type: "text", text };
      const usage = TOKENS;
      const stop_reason = call ? "tool_use" : "end_turn";
      const message = { id, type: "message", role: "assistant", model: "m", stop_reason, stop_sequence: null, usage };
      if (body.stream !== true) return { body: JSON.stringify({ ...message, content: [block] }), ...JSON_TYPE };
      const delta = used
        ? { type: "input_json_delta", partial_json: JSON.stringify(used.input) }
        : { type: "text_delta", text };
      const opened = used ? { ...used, input: {} } : { type: "text", text: "" };
      const events = [
        { type: "message_start", message: { ...message, stop_reason: null, content: [] } },
        { type: "content_block_start", index: 0, content_block: opened },
        { type: "content_block_delta", index: 0, delta },
        { type: "content_block_stop", index: 0 },
        { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage },
        { type: "message_stop" },
      ];
      return { body: events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("") };
    },
  };
}

const JSON_TYPE = { headers: { "content-type": "application/json" } };

function responsesRequest(body: Part, id: string): AgentRequest {
  const events = (item: object) =>
    [
      { type: "response.created", response: { id } },
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response: { id, usage: { ...TOKENS, total_tokens: 120 } } },
    ]
      .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
      .join("");
  const message = (text: string) => ({
    ...{ type: "message", role: "assistant", id },
    content: [{ type: "output_text", text }],
  });
  return {
    offered: partsIn(body.tools).flatMap((tool) => {
      const inner = partsIn(tool.tools).flatMap(named);
      return inner.length > 0 ? inner.map(({ name }) => ({ name, namespace: String(tool.name) })) : named(tool);
    }),
    results: partsIn(body.input).flatMap((item) =>
      item.type === "function_call_output" ? [JSON.stringify(item)] : [],
    ),
    answer: (call, text = DONE) => {
      const made = call && {
        type: "function_call",
        id,
        call_id: id,
        ...call.offered,
        arguments: JSON.stringify(call.args),
      };
      return { body: events(made ?? message(text)) };
    },
  };
}

function contentsRequest(body: Part): AgentRequest {
  const said = partsIn(body.contents).flatMap(({ parts }) => partsIn(parts));
  return {
    offered: partsIn(body.tools).flatMap(({ functionDeclarations }) => partsIn(functionDeclarations).flatMap(named)),
    results: said.flatMap(({ functionResponse }) => (functionResponse ? [JSON.stringify(functionResponse)] : [])),
    answer: (call) => {
      const part = call ? { functionCall: { name: call.offered.name, args: call.args } } : { text: "done" };
      const candidates = [{ content: { role: "model", parts: [part] }, finishReason: "STOP", index: 0 }];
      const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 };
      return { body: `data: ${JSON.stringify({ candidates, usageMetadata })}\r\n\r\n` };
    },
  };
}

function partsIn(value: unknown): readonly Part[] {
  return Array.isArray(value) ? value : [];
}

function named(tool: unknown): Offered[] {
  const name: unknown = typeof tool === "object" && tool !== null ? Reflect.get(tool, "name") : null;
  return typeof name === "string" ? [{ name }] : [];
}
