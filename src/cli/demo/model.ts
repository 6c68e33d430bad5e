import { createServer, type ServerResponse } from "node:http";
import { setTimeout } from "node:timers/promises";
import { boundedJson } from "../../platform/bounded-json.ts";
import { isRecord } from "../../platform/json.ts";
import { listenOnLoopback } from "../../platform/loopback.ts";

export interface ScriptedModel {
  /** Base URL, with `/v1`. */
  readonly url: string;
  /** Requests that it has got. */
  readonly requests: number;
  /** Answers so many more requests; those beyond wait until their client goes away, or until this is called again. */
  allow(answers: number): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The time of each answer, ms: enough to be seen. */
const ANSWER_MS = 150;
/** The largest request, more than a question about a letter has. */
const MAX_BODY_BYTES = 100_000;

/**
 * A model that is a script: a server on loopback that speaks OpenAI's chat completions.
 *
 * @param answer the text for the last message of a request
 */
export async function openScriptedModel(answer: (prompt: string) => string): Promise<ScriptedModel> {
  let requests = 0;
  let allowed = 0;
  const waiting: (() => void)[] = [];
  const turn = () =>
    new Promise<void>((resolve) => {
      waiting.push(resolve);
      letGo();
    });
  function letGo(): void {
    for (; allowed > 0 && waiting.length > 0; allowed--) waiting.shift()?.();
  }

  const server = createServer(async (incoming, response) => {
    const prompt = promptIn(await boundedJson({ body: incoming }, MAX_BODY_BYTES));
    if (prompt === null) return void response.writeHead(400).end();
    requests++;
    await turn();
    await setTimeout(ANSWER_MS);
    stream(response, answer(prompt), Math.ceil(prompt.length / 4));
  });
  const port = await listenOnLoopback(server, 0);
  return {
    url: `http://127.0.0.1:${port}/v1`,
    get requests() {
      return requests;
    },
    allow(answers: number): void {
      allowed += answers;
      letGo();
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** The text of the last message, or null for what is not a request. */
function promptIn(body: unknown): string | null {
  if (!isRecord(body) || !Array.isArray(body.messages)) return null;
  const { content = null }: { readonly content?: unknown } = Object(body.messages.at(-1));
  return typeof content === "string" ? content : JSON.stringify(content);
}

function stream(response: ServerResponse, text: string, prompt_tokens: number): void {
  const send = (fields: object) =>
    response.write(`data: ${JSON.stringify({ id: "demo", model: "reader", ...fields })}\n\n`);
  response.writeHead(200, { "content-type": "text/event-stream" });
  send({ choices: [{ index: 0, delta: { content: text }, finish_reason: null }] });
  send({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
  send({ choices: [], usage: { prompt_tokens, completion_tokens: 1, total_tokens: prompt_tokens + 1 } });
  response.end("data: [DONE]\n\n");
}
