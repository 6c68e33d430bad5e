import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout } from "node:timers/promises";
import { parseJson } from "../../src/platform/json.ts";

/** How one request is answered. Without any field: 200 and the text "ok". */
export interface ScriptedAnswer {
  readonly text?: string;
  /** Sent before the text, as `reasoning_content`. */
  readonly thinking?: string;
  readonly tools?: readonly { readonly id: string; readonly name: string; readonly arguments: unknown }[];
  /** Default: `tool_calls` with tools, else `stop`; null sends none. */
  readonly finish?: string | null;
  /** Prompt, completion and cached tokens; null sends no usage. Default: a token for every four characters. */
  readonly usage?: { readonly prompt: number; readonly completion: number; readonly cached?: number } | null;
  /** Wait before the status line, ms. */
  readonly delayMs?: number;
  /** Pieces that the text is sent in (default 1), and the wait before each, ms. */
  readonly pieces?: number;
  readonly pieceMs?: number;
  /** How the body ends: whole; the connection is destroyed after the text; nothing more comes, and it stays open. */
  readonly end?: "whole" | "destroyed" | "stuck";
  /** Another status than 200: `body` is sent, or an error in OpenAI's form. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as it stands, in place of all events. */
  readonly body?: string | Buffer;
}

/** A request as the server saw it. */
export interface SeenRequest {
  /** From 0, in the order of arrival. */
  readonly index: number;
  /** When it had arrived and when its connection was free again or closed, ms on the scale of `performance.now()`. */
  readonly at: number;
  ended: number | null;
  /** The client closed the connection before the answer was whole. */
  disconnected: boolean;
  readonly headers: IncomingMessage["headers"];
  readonly body: ChatBody;
  /** The body as it was sent, in whatever protocol. */
  readonly sent: string;
  /** Text of the last message. */
  readonly prompt: string;
}

/** The fields of a chat completion request that tests look at. */
export interface ChatBody {
  readonly model: string;
  readonly messages: readonly {
    readonly role: string;
    readonly content?: unknown;
    readonly tool_calls?: unknown;
    readonly tool_call_id?: string;
  }[];
  readonly tools?: readonly { readonly function: { readonly name: string; readonly parameters: unknown } }[];
  readonly max_tokens?: number;
  readonly max_completion_tokens?: number;
}

/** Answers in the order of requests (a request beyond the list is refused with 418), or an answer for each request. */
export type ModelScript =
  | readonly ScriptedAnswer[]
  | ((request: SeenRequest) => ScriptedAnswer | Promise<ScriptedAnswer>);

export interface ModelServer extends AsyncDisposable {
  /** The base URL, with `/v1`. */
  readonly url: string;
  readonly requests: SeenRequest[];
  /** The most requests that were in flight at once. */
  readonly peak: number;
  /** Closes all connections. */
  close(): Promise<void>;
}

/**
 * A server on loopback that speaks OpenAI's chat completions with server-sent events, as the script says.
 * @param models ids that it lists; such requests are not among `requests`
 * @param port that of a server which was closed; 0: a free one
 */
export async function startModelServer(
  script: ModelScript,
  models: readonly string[] = ["scripted"],
  port = 0,
): Promise<ModelServer> {
  const requests: SeenRequest[] = [];
  let flying = 0;
  let peak = 0;
  const server = createServer(async (incoming, response) => {
    if (incoming.method === "GET") {
      response.end(JSON.stringify({ data: models.map((id) => ({ id, max_model_len: 32_768 })) }));
      return;
    }
    const sent = await textOf(incoming);
    const body = readBody(sent);
    const seen: SeenRequest = {
      ...{ index: requests.length, at: performance.now(), ended: null, disconnected: false },
      ...{ headers: incoming.headers, body, sent, prompt: promptOf(body) },
    };
    requests.push(seen);
    peak = Math.max(peak, ++flying);
    const gone = new AbortController();
    response.once("close", () => {
      flying--;
      seen.ended = performance.now();
      seen.disconnected = !response.writableFinished;
      gone.abort();
    });
    const answer = await answerOf(script, seen);
    await send(answer, seen, response, gone.signal).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return {
    url: `http://127.0.0.1:${portOf(server.address())}/v1`,
    requests,
    get peak() {
      return peak;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** An error of the script is an answer that is not retried. */
async function answerOf(script: ModelScript, request: SeenRequest): Promise<ScriptedAnswer> {
  const refuse = (message: string) => ({ status: 418, body: JSON.stringify({ error: { message } }) });
  if (typeof script !== "function") return script[request.index] ?? refuse("the script has no answer left");
  try {
    return await script(request);
  } catch (error) {
    return refuse(`the script failed: ${error instanceof Error ? error.message : error}`);
  }
}

async function send(
  answer: ScriptedAnswer,
  request: SeenRequest,
  response: ServerResponse,
  gone: AbortSignal,
): Promise<void> {
  if (answer.delayMs) await setTimeout(answer.delayMs, undefined, { signal: gone });
  const { status = 200, headers = {}, body } = answer;
  const type = status === 200 ? "text/event-stream" : "application/json";
  response.writeHead(status, { "content-type": type, ...headers });
  if (status !== 200) {
    response.end(body ?? JSON.stringify({ error: { message: `scripted ${status}` } }));
    return;
  }
  for (const event of eventsOf(answer, request)) {
    if (answer.pieceMs) await setTimeout(answer.pieceMs, undefined, { signal: gone });
    response.write(event);
  }
  if (answer.end === "destroyed") response.destroy();
  else if (answer.end !== "stuck") response.end();
}

function* eventsOf(answer: ScriptedAnswer, request: SeenRequest): Generator<string | Buffer> {
  if (answer.body !== undefined) {
    yield answer.body;
    return;
  }
  const { thinking, tools = [], text = tools.length > 0 ? "" : "ok", pieces = 1 } = answer;
  const size = Math.max(1, Math.ceil(text.length / pieces));
  if (thinking !== undefined) yield choice(request, { reasoning_content: thinking }, null);
  for (let at = 0; at < text.length; at += size) yield choice(request, { content: text.slice(at, at + size) }, null);
  for (const [index, tool] of tools.entries()) {
    const call = { name: tool.name, arguments: JSON.stringify(tool.arguments) };
    yield choice(request, { tool_calls: [{ index, id: tool.id, type: "function", function: call }] }, null);
  }
  if ((answer.end ?? "whole") !== "whole") return;
  const { finish = tools.length > 0 ? "tool_calls" : "stop" } = answer;
  if (finish === null) return;
  yield choice(request, {}, finish);
  const usage = answer.usage === undefined ? defaultUsage(request, text) : answer.usage;
  if (usage !== null) yield usageEvent(request, usage);
  yield "data: [DONE]\n\n";
}

function choice({ index, body }: SeenRequest, delta: object, finish_reason: string | null): string {
  return sse({
    id: `chat-${index}`,
    model: body.model,
    choices: [{ index: 0, delta: { role: "assistant", ...delta }, finish_reason }],
  });
}

function usageEvent({ index, body }: SeenRequest, usage: NonNullable<ScriptedAnswer["usage"]>): string {
  const { prompt, completion, cached = 0 } = usage;
  return sse({
    id: `chat-${index}`,
    model: body.model,
    choices: [],
    usage: {
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: prompt + completion,
      prompt_tokens_details: { cached_tokens: cached },
    },
  });
}

function defaultUsage({ body }: SeenRequest, text: string): NonNullable<ScriptedAnswer["usage"]> {
  return { prompt: Math.ceil(JSON.stringify(body.messages).length / 4), completion: Math.ceil(text.length / 4) };
}

function sse(event: object): string {
  return `data: ${JSON.stringify(event)}\n\n`;
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString();
}

/** Requests of other protocols have no messages, and some have no body, or a form in place of JSON. */
function readBody(text: string): ChatBody {
  const body = parseJson(text);
  return isChatBody(body) ? body : { model: "", messages: [] };
}

function isChatBody(body: unknown): body is ChatBody {
  return typeof body === "object" && body !== null && "model" in body && "messages" in body;
}

function promptOf(body: ChatBody): string {
  const content = body.messages.at(-1)?.content;
  return typeof content === "string" ? content : JSON.stringify(content ?? "");
}

function portOf(address: string | AddressInfo | null): number {
  if (typeof address === "object" && address !== null) return address.port;
  throw new Error("the server has no port");
}
