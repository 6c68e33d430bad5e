import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout } from "node:timers/promises";
import type { Json } from "../../runtime/index.ts";
import { parseJson } from "../../src/platform/json.ts";
import type { ScriptedReply } from "./case.ts";
import { type WireApi, written } from "./wire.ts";

/** A request that asks a model. */
export interface Asked {
  /** From 0, in the order of arrival. */
  readonly index: number;
  readonly api: WireApi;
  readonly body: Json;
  readonly headers: IncomingMessage["headers"];
  /** ms on the scale of `performance.now()`. */
  readonly at: number;
}

/** What the server does with the requests of one case. */
export interface Script {
  /** Gives the reply to a request. A promise makes it wait. */
  reply(asked: Asked): ScriptedReply | Promise<ScriptedReply>;
  /** Called when the first bytes of a reply are sent. */
  begun?(asked: Asked): void;
  /** JSON by method and path, such as `GET /v1/models`. */
  readonly routes?: Readonly<Record<string, Json>>;
}

/** One server for all cases: the id of a case is the name of its model. */
export interface RepliesServer extends AsyncDisposable {
  /** The base URL of models that are named by address. */
  urlOf(id: string): string;
  /** The base URL of a provider in models.json. */
  readonly url: string;
  play(id: string, script: Script): readonly Asked[];
}

const ENDS: readonly (readonly [RegExp, WireApi])[] = [
  [/\/chat\/completions$/, "chat"],
  [/\/responses$/, "responses"],
  [/\/messages$/, "anthropic"],
  [/:(?:streamG|g)enerateContent$/, "gemini"],
];

export async function startRepliesServer(): Promise<RepliesServer> {
  const scripts = new Map<string, { readonly script: Script; readonly asked: Asked[] }>();
  const server = createServer((incoming, response) => {
    void answer(incoming, response).catch(() => response.destroy());
  });

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, named = "", ...path] = new URL(incoming.url ?? "/", "http://localhost").pathname.split("/");
    const body = await bodyOf(incoming);
    const id = named === "of" ? decodeURIComponent(path.shift() ?? "") : modelIn(body, path.join("/"));
    const found = scripts.get(id);
    const rest = `/${path.join("/")}`;
    const api = ENDS.find(([end]) => end.test(rest))?.[1];
    if (!found || !api || incoming.method !== "POST") {
      const routed = found?.script.routes?.[`${incoming.method} ${rest}`];
      response.writeHead(routed === undefined ? 404 : 200, { "content-type": "application/json" });
      response.end(JSON.stringify(routed ?? { error: { message: "no such route" } }));
      return;
    }
    const { script, asked } = found;
    const one: Asked = { index: asked.length, api, body, headers: incoming.headers, at: performance.now() };
    asked.push(one);
    const reply = await script.reply(one);
    script.begun?.(one);
    await send(reply, one, id, response);
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  return {
    url: `${url}/any`,
    urlOf: (id) => `${url}/of/${encodeURIComponent(id)}/v1`,
    play(id, script) {
      const asked: Asked[] = [];
      scripts.set(id, { script, asked });
      return asked;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

async function send(reply: ScriptedReply, { api, index, body }: Asked, id: string, response: ServerResponse) {
  const { status = 200, headers = {} } = reply;
  if (reply.raw !== undefined) {
    response.writeHead(status, { "content-type": reply.type ?? "text/plain", ...headers });
    response.end(reply.raw);
    return;
  }
  if (reply.body !== undefined) {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(reply.body));
    return;
  }
  const { events, whole } = written[api](reply, index, id);
  if (reply.stream === false || !wantsStream(api, body)) {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(whole));
    return;
  }
  response.writeHead(status, { "content-type": "text/event-stream", ...headers });
  for (const event of events) response.write(event);
  if (reply.broken) {
    await setTimeout(5);
    response.destroy();
  } else response.end();
}

/** Gemini's path says it; the runtime always asks for a stream there. */
function wantsStream(api: WireApi, body: Json): boolean {
  return api === "gemini" || fieldOf(body, "stream") === true;
}

function modelIn(body: Json, path: string): string {
  const inPath = path.match(/models\/([^/:]+):/)?.[1];
  return inPath ?? String(fieldOf(body, "model") ?? "");
}

/** A field of a JSON object, by its path with dots; undefined if there is none. */
export function fieldOf(value: Json | undefined, path: string): Json | undefined {
  let at: Json | undefined = value;
  for (const name of path.split(".")) {
    if (typeof at !== "object" || at === null) return undefined;
    at = Object.entries(at).find(([key]) => key === name)?.[1];
  }
  return at;
}

async function bodyOf(incoming: IncomingMessage): Promise<Json> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(Buffer.from(chunk));
  return (parseJson(Buffer.concat(chunks).toString()) as Json) ?? null;
}
