import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout } from "node:timers/promises";
import { isRecord, parseJson } from "../../../src/platform/json.ts";
import type { BatchApi } from "../../../src/provider-batches/providers/index.ts";
import { seededRandom } from "../seeded-random.ts";
import { failureOf, promptOf } from "./answers.ts";
import {
  type Answer,
  type Batch,
  type Fate,
  fileOf,
  type MadeBatch,
  type Ran,
  type Row,
  ran,
  runBatch,
  shown,
  type World,
} from "./batches.ts";

export type { Asked, ScriptedRow } from "./answers.ts";
export type { Fate, MadeBatch, Ran } from "./batches.ts";

/** `start` begins an upload to Gemini; `live` is a request that does not go by a batch. */
export type StepKind = "start" | "upload" | "fence" | "create" | "list" | "look" | "results" | "cancel" | "live";

/** A request that has arrived. */
export interface Step {
  readonly kind: StepKind;
  readonly api: BatchApi;
  readonly key: string;
  /** The header `x-by` in which a process names itself; empty: it does not. */
  readonly by: string;
  /** How many of its kind and key came before. */
  readonly n: number;
}

/** What becomes of a request. Without any field: it is carried out and answered. */
export interface Fault {
  /** It waits so many ms, or for a promise, and is then carried out even if nobody waits any more. */
  readonly wait?: number | Promise<unknown>;
  /** It is not carried out, and answered with this status. */
  readonly status?: number;
  /** The connection is destroyed: before it is carried out, or in place of the answer. */
  readonly lost?: "request" | "response";
}

export interface BatchServerOptions {
  /** Answers rows and live requests. Default: the text "ok". */
  readonly answer?: Answer;
  readonly fate?: (batch: MadeBatch) => Fate;
  readonly fault?: (step: Step) => Fault | undefined;
  /** One in so many requests is answered with 429 or 500. */
  readonly noise?: { readonly oneIn: number; readonly seed: number };
  /** The most entries of a page of a list. Default: 100. */
  readonly pageSize?: number;
}

export interface BatchServer extends AsyncDisposable {
  /** Without a version: the base of the SDKs of Anthropic and Google. */
  readonly url: string;
  /** The base URL of a model, as pi-ai has it. */
  baseUrl(api: BatchApi): string;
  readonly steps: readonly (Step & { status: number })[];
  readonly batches: readonly Batch[];
  /** Rows and live requests that were run, in their order. */
  readonly ran: readonly Ran[];
  /** How often each prompt was paid for, live or in a batch. */
  paid(): ReadonlyMap<string, number>;
  close(): Promise<void>;
}

/** A request whose route is known. `id` is what stands in the path. */
interface Call {
  readonly kind: StepKind;
  readonly api: BatchApi;
  readonly id: string;
  readonly world: World;
  readonly url: URL;
  readonly request: IncomingMessage;
  readonly sent: Buffer;
  readonly body: unknown;
}

class Refusal extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const CHAT = "openai-completions";
const ANTHROPIC = "anthropic-messages";
const GEMINI = "google-generative-ai";

const ROUTES: readonly (readonly [StepKind, BatchApi, RegExp])[] = [
  ["upload", CHAT, /^POST \/v1\/files$/],
  ["fence", CHAT, /^DELETE \/v1\/files\/([^/]+)$/],
  ["results", CHAT, /^GET \/v1\/files\/([^/]+)\/content$/],
  ["create", CHAT, /^POST \/v1\/batches$/],
  ["list", CHAT, /^GET \/v1\/batches$/],
  ["look", CHAT, /^GET \/v1\/batches\/([^/]+)$/],
  ["cancel", CHAT, /^POST \/v1\/batches\/([^/]+)\/cancel$/],
  ["live", CHAT, /^POST \/v1\/chat\/completions$/],
  ["live", "openai-responses", /^POST \/v1\/responses$/],
  ["live", ANTHROPIC, /^POST \/v1\/messages$/],
  ["create", ANTHROPIC, /^POST \/v1\/messages\/batches$/],
  ["list", ANTHROPIC, /^GET \/v1\/messages\/batches$/],
  ["look", ANTHROPIC, /^GET \/v1\/messages\/batches\/([^/]+)$/],
  ["results", ANTHROPIC, /^GET \/v1\/messages\/batches\/([^/]+)\/results$/],
  ["cancel", ANTHROPIC, /^POST \/v1\/messages\/batches\/([^/]+)\/cancel$/],
  ["upload", GEMINI, /^POST \/upload\/v1beta\/(\w+)$/],
  ["start", GEMINI, /^POST \/upload\/v1beta\/files$/],
  ["fence", GEMINI, /^DELETE \/v1beta\/(files\/[^/]+)$/],
  ["results", GEMINI, /^GET \/v1beta\/(files\/[^/]+):download$/],
  ["create", GEMINI, /^POST \/v1beta\/models\/([^/]+):batchGenerateContent$/],
  ["list", GEMINI, /^GET \/v1beta\/batches$/],
  ["look", GEMINI, /^GET \/v1beta\/(batches\/[^/:]+)$/],
  ["cancel", GEMINI, /^POST \/v1beta\/(batches\/[^/:]+):cancel$/],
  ["live", GEMINI, /^POST \/v1beta\/models\/([^/]+):(?:streamG|g)enerateContent$/],
];

/**
 * A server on loopback that takes batches and live requests by the APIs of OpenAI (both), Anthropic and Gemini. Each key has files
 * and batches of its own.
 */
export async function startBatchServer(options: BatchServerOptions = {}): Promise<BatchServer> {
  const { answer = () => ({}), fault, noise, pageSize = 100 } = options;
  const steps: (Step & { status: number })[] = [];
  const batches: Batch[] = [];
  const all: Ran[] = [];
  const worlds = new Map<string, World>();
  const closed = new AbortController();
  const random = seededRandom(noise?.seed ?? 0);
  let ids = 0;

  function worldOf(key: string): World {
    const world = worlds.get(key) ?? { key, files: new Map(), batches: new Map() };
    worlds.set(key, world);
    return world;
  }

  function make(call: Call, model: string, file: string, rows: readonly Row[]): object {
    const { api, world, body } = call;
    const index = batches.length;
    const id = { [ANTHROPIC]: `msgbatch_${index}`, [GEMINI]: `batches/b${index}` }[String(api)] ?? `batch_${index}`;
    const metadata = isRecord(body) ? body.metadata : undefined;
    const named =
      api === GEMINI ? String(field(body, "batch", "displayName") ?? field(body, "batch", "display_name")) : "";
    const shipment =
      field(metadata, "belay_shipment") ?? (named.replace(/^belay-/, "") || rows[0]?.custom_id.split("-")[0]);
    const made: MadeBatch = { index, id, api, key: world.key, shipment: String(shipment), rows };
    const batch: Batch = {
      ...{ ...made, model, file, server: address(), metadata, created: Date.now(), fate: options.fate?.(made) ?? {} },
      ...{ results: [], state: "open", cancelled: false },
    };
    batches.push(batch);
    world.batches.set(id, batch);
    runBatch(batch, answer, all, closed.signal).catch(() => {});
    return shown(batch);
  }

  function create(call: Call): object {
    const { api, world, body } = call;
    if (api === ANTHROPIC) {
      const rows = list(field(body, "requests")).map((row) => ({
        ...{ custom_id: String(field(row, "custom_id")), body: field(row, "params") },
      }));
      if (rows.some(({ custom_id }) => !/^[\w-]{1,64}$/.test(custom_id)))
        throw new Refusal(400, "requests.0.custom_id");
      return make(call, String(field(rows[0]?.body, "model")), "", rows);
    }
    const config = field(body, "batch", "inputConfig") ?? field(body, "batch", "input_config");
    const name =
      api === GEMINI ? (field(config, "fileName") ?? field(config, "file_name")) : field(body, "input_file_id");
    const file = String(name);
    const lines = world.files.get(file)?.split("\n").filter(Boolean).map(parseJson);
    if (!lines)
      throw new Refusal(
        api === GEMINI ? 403 : 400,
        api === GEMINI ? mayNotExist(file) : `No such File object: ${file}`,
      );
    if (api === GEMINI) {
      const rows = lines.map((line) => ({ custom_id: String(field(line, "key")), body: field(line, "request") }));
      return make(call, call.id, file, rows);
    }
    const endpoint = field(body, "endpoint");
    if (lines.some((line) => field(line, "url") !== endpoint)) throw new Refusal(400, "a row has another url");
    const rows = lines.map((line) => ({ custom_id: String(field(line, "custom_id")), body: field(line, "body") }));
    const of = { ...call, api: endpoint === "/v1/responses" ? ("openai-responses" as const) : CHAT } as const;
    return make(of, String(field(rows[0]?.body, "model")), file, rows);
  }

  /** Batches of the API, the newest first, by pages. */
  function listOf({ api, world, url }: Call): object {
    const isOurs = (of: BatchApi) => of === api || (api === CHAT && of === "openai-responses");
    const there = [...world.batches.values()].filter((batch) => {
      return isOurs(batch.api) && Date.now() - batch.created >= (batch.fate.hiddenMs ?? 0);
    });
    const query = (name: string) => url.searchParams.get(name);
    const after = query("after") ?? query("after_id") ?? query("pageToken");
    const newest = there.toReversed();
    const from = newest.findIndex(({ id }) => id === after) + 1;
    const size = Math.min(pageSize, Number(query("limit") ?? query("pageSize") ?? 20));
    const page = newest.slice(from, from + size);
    const has_more = newest.length > from + size;
    const last = page.at(-1)?.id ?? null;
    const data = page.map(shown);
    if (api === GEMINI) return { operations: data, ...(has_more ? { nextPageToken: last } : {}) };
    return { object: "list", data, has_more, first_id: page[0]?.id ?? null, last_id: last };
  }

  function batchOf({ id, world }: Call): Batch {
    const batch = world.batches.get(id);
    if (!batch) throw new Refusal(404, `No batch found with id '${id}'`);
    return batch;
  }

  function results(call: Call): string {
    const name = call.id.replace("files/", "batches/").replace(/-(?:output|errors)$/, "");
    const batch = batchOf({ ...call, id: name });
    if (batch.fate.forgotten || batch.state === "open") throw new Refusal(404, "No such File object");
    return fileOf(batch, call.id.endsWith("-errors"));
  }

  /** Carries a request out: the answer is JSON, lines or a stream. */
  async function carry(call: Call): Promise<object | string> {
    const { kind, api, world, id, request, sent, url } = call;
    switch (kind) {
      case "start": {
        const to = `${address()}/upload/v1beta/u${ids++}?upload_id=1`;
        return { headers: { "x-goog-upload-url": to, "x-goog-upload-status": "active" } };
      }
      case "upload": {
        const file = api === GEMINI ? `files/f${ids++}` : `file-${ids++}`;
        const text = api === GEMINI ? sent.toString() : await fileIn(request, sent);
        world.files.set(file, text);
        if (api !== GEMINI)
          return { id: file, object: "file", bytes: text.length, purpose: "batch", filename: "b.jsonl" };
        const body = { file: { name: file, uri: `${address()}/v1beta/${file}`, state: "ACTIVE" } };
        return { headers: { "x-goog-upload-status": "final" }, body };
      }
      case "fence":
        if (world.files.delete(id)) return api === GEMINI ? {} : { id, object: "file", deleted: true };
        throw new Refusal(api === GEMINI ? 403 : 404, api === GEMINI ? mayNotExist(id) : `No such File object: ${id}`);
      case "create":
        return create(call);
      case "list":
        return listOf(call);
      case "look":
        return shown(batchOf(call));
      case "results":
        return results(call);
      case "cancel": {
        const batch = batchOf(call);
        if (batch.state === "open") batch.cancelled = true;
        return api === GEMINI ? {} : shown(batch);
      }
      case "live": {
        const model = api === GEMINI ? id : String(field(call.body, "model"));
        const asked = { api, model, body: call.body, prompt: promptOf(call.body), custom_id: null };
        const { status, body, events } = await ran(asked, answer, { key: world.key, batch: null }, all);
        if (status !== 200) throw new Refusal(status, String(field(body, "error", "message")));
        return field(call.body, "stream") === true || url.pathname.endsWith(":streamGenerateContent") ? events : body;
      }
    }
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const sent = Buffer.concat(await Array.fromAsync(request, (chunk: Buffer) => chunk));
    const url = new URL(request.url ?? "/", "http://127.0.0.1");
    const key = keyOf(request);
    const found = ROUTES.flatMap(([kind, api, form]) => {
      const match = form.exec(`${request.method} ${url.pathname}`);
      return match && !(kind === "upload" && match[1] === "files") ? [{ kind, api, id: match[1] ?? "" }] : [];
    })[0];
    const isJson = request.headers["content-type"]?.includes("json") === true;
    const call = { ...found, request, url, sent, body: isJson ? parseJson(sent.toString()) : undefined };
    const { kind = "live", api = CHAT } = call;
    const n = steps.filter((step) => step.kind === kind && step.key === key).length;
    const step = { kind, api, key: key ?? "", by: String(request.headers["x-by"] ?? ""), n, status: 0 };
    steps.push(step);
    const { wait, status, lost } = fault?.(step) ?? (noise && random() * noise.oneIn < 1 ? noisy(random()) : {});
    if (wait !== undefined) await (typeof wait === "number" ? setTimeout(wait) : wait);
    if (lost === "request") return void request.socket.destroy();
    try {
      if (key === null) throw new Refusal(401, "no key");
      if (!found) throw new Refusal(404, `Not found: ${request.method} ${url.pathname}`);
      if (status !== undefined) throw new Refusal(status, `scripted ${status}`);
      const answered = await carry({ ...call, kind, api, id: found.id, world: worldOf(key) });
      step.status = 200;
      if (lost === "response") return void request.socket.destroy();
      reply(response, answered);
    } catch (error) {
      step.status = error instanceof Refusal ? error.status : 500;
      response.writeHead(step.status, { "content-type": "application/json" });
      const message = error instanceof Error ? error.message : String(error);
      response.end(JSON.stringify(failureOf(api, step.status, message)));
    }
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => request.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  function address(): string {
    const at = server.address();
    return `http://127.0.0.1:${typeof at === "object" ? at?.port : 0}`;
  }
  const url = address();
  async function close(): Promise<void> {
    closed.abort();
    const ended = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await ended;
  }
  return {
    ...{ url, steps, batches, ran: all, close, [Symbol.asyncDispose]: close },
    baseUrl: (api) => ({ [ANTHROPIC]: url, [GEMINI]: `${url}/v1beta` })[String(api)] ?? `${url}/v1`,
    paid() {
      const paid = new Map<string, number>();
      for (const { prompt, status } of all) if (status === 200) paid.set(prompt, (paid.get(prompt) ?? 0) + 1);
      return paid;
    },
  };
}

const mayNotExist = (file: string) =>
  `You do not have permission to access the File ${file.replace("files/", "")} or it may not exist.`;

const noisy = (random: number): Fault => ({ status: random < 0.5 ? 429 : 500 });

function keyOf({ headers }: IncomingMessage): string | null {
  const key = headers.authorization?.replace(/^Bearer /, "") ?? headers["x-api-key"] ?? headers["x-goog-api-key"];
  return typeof key === "string" ? key : null;
}

function reply(response: ServerResponse, answered: object | string): void {
  if (typeof answered === "string") {
    response.writeHead(200, {
      "content-type": answered.startsWith("{") ? "application/octet-stream" : "text/event-stream",
    });
    response.end(answered);
    return;
  }
  const { headers, body } = "headers" in answered ? { body: {}, ...answered } : { headers: {}, body: answered };
  response.writeHead(200, { "content-type": "application/json", ...(isRecord(headers) ? texts(headers) : {}) });
  response.end(JSON.stringify(body));
}

const texts = (values: { readonly [key: string]: unknown }) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]));

async function fileIn({ headers }: IncomingMessage, sent: Buffer): Promise<string> {
  const form = await new Response(new Uint8Array(sent), {
    headers: { "content-type": headers["content-type"] ?? "" },
  }).formData();
  const file = form.get("file");
  if (form.get("purpose") !== "batch" || typeof file === "string" || file === null) throw new Refusal(400, "no file");
  return await file.text();
}

function field(value: unknown, ...names: readonly string[]): unknown {
  return names.reduce((found: unknown, name) => (isRecord(found) ? found[name] : undefined), value);
}

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
