import { BlockList, isIP } from "node:net";
import { boundedJson } from "../platform/bounded-reads.ts";
import { isRecord } from "../platform/json.ts";
import { fetchOut } from "../platform/outbound.ts";
import { failure, unsent } from "./failure.ts";
import type { Model, ModelRequest, ModelTurn, SubCallError } from "./port.ts";
import { estimateRequest } from "./usage.ts";

/** A server of the user's own, and how it knows a model. */
interface ModelServer {
  /** With its path, such as `/v1`. */
  readonly baseUrl: string;
  readonly id: string;
  readonly key: string | null;
}

/** Facts that a server tells about a model. */
interface ServerWindow {
  readonly window: number | null;
  /**
   * Counts the tokens of a request. Resolves with null if no count comes. Absent: the server counts
   * none before they are sent.
   */
  count?(request: ModelRequest): Promise<number | null>;
}

/** Time for all that is asked at once: servers answer such requests soon, or not at all. */
const TIMEOUT_MS = 1000;
const MAX_BYTES = 4 * 2 ** 20;

/** The window of a model as its server tells it, with requests that cost nothing. Never rejects. */
async function serverWindow(server: ModelServer): Promise<ServerWindow> {
  const { id } = server;
  const base = baseOf(server);
  const limit = AbortSignal.timeout(TIMEOUT_MS);
  const list = await asked(server, `${base}/models`, limit);
  const entry = entryOf(isRecord(list) ? list.data : null, id);
  const counts =
    entry?.owned_by === "llamacpp" ? { count: (request: ModelRequest) => countTokens(server, request) } : {};
  const window = entry ? windowIn(entry) : null;
  if (window !== null || list === null || !isPrivateAddress(base)) return { window, ...counts };
  // Additions of servers to OpenAI's API have paths beside its own.
  const root = base.replace(/\/v1$/, "");
  const at = (path: string, body?: object) => asked(server, root + path, limit, body);
  const windows = await Promise.all([ofLlamaCpp(at), ofLmStudio(at, id), ofOllama(at, id)]);
  return { window: windows.find((one) => one !== null) ?? null, ...counts };
}

/** Tokens of a request with its chat template, as llama.cpp counts them. */
async function countTokens(server: ModelServer, request: ModelRequest): Promise<number | null> {
  const said = request.messages.map((message) =>
    message.role === "assistant" ? replyOf(message.answer) : message.text,
  );
  const body = {
    messages: [{ role: "user", content: [request.system ?? "", ...said].join("\n") }],
    tools: request.tools.map((tool) => ({ type: "function", function: tool })),
  };
  const limit = AbortSignal.timeout(TIMEOUT_MS);
  const counted = await asked(server, `${baseOf(server)}/chat/completions/input_tokens`, limit, body);
  const tokens = isRecord(counted) ? positive(counted.input_tokens) : null;
  return tokens && tokens + request.messages.length * MARKS;
}

/** Tokens of the marks of a chat template around a message, at most. */
const MARKS = 8;
const replyOf = ({ text, toolUses }: ModelTurn) => text + JSON.stringify(toolUses);
const baseOf = ({ baseUrl }: ModelServer) => baseUrl.replace(/\/$/, "");

type Entry = Readonly<Record<string, unknown>>;
type Ask = (path: string, body?: object) => Promise<unknown>;

/**
 * The window in an entry of a list of models. Servers and routers each have a name of their own for
 * it.
 */
export function windowIn(entry: Entry): number | null {
  const inMeta = isRecord(entry.meta) ? entry.meta.n_ctx : undefined;
  const places = [
    entry.loaded_context_length,
    entry.max_model_len,
    entry.context_length,
    entry.context_window,
    entry.max_context_length,
    inMeta,
  ];
  return places.map(positive).find((value) => value !== null) ?? null;
}

/** The entry of a model by its id. A server that has one model takes every name for it. */
function entryOf(data: unknown, id: string): Entry | undefined {
  const entries: readonly Entry[] = Array.isArray(data) ? data.filter(isRecord) : [];
  return entries.find((entry) => entry.id === id) ?? (entries.length === 1 ? entries[0] : undefined);
}

/**
 * Older servers of llama.cpp list the window that the model was trained with. This is that of a
 * slot.
 */
async function ofLlamaCpp(at: Ask): Promise<number | null> {
  const props = await at("/props");
  const settings = isRecord(props) ? props.default_generation_settings : null;
  return isRecord(settings) ? positive(settings.n_ctx) : null;
}

async function ofLmStudio(at: Ask, id: string): Promise<number | null> {
  const list = await at("/api/v0/models");
  const entry = entryOf(isRecord(list) ? list.data : null, id);
  return entry ? windowIn(entry) : null;
}

/**
 * The window that a loaded model runs with; before it is loaded, that of its Modelfile, or the
 * largest that it can have.
 */
async function ofOllama(at: Ask, id: string): Promise<number | null> {
  const running = await at("/api/ps");
  if (!isRecord(running) || !Array.isArray(running.models)) return null;
  const loaded = running.models.find((one) => isRecord(one) && (one.name === id || one.name === `${id}:latest`));
  if (isRecord(loaded) && positive(loaded.context_length) !== null) return positive(loaded.context_length);
  const shown = await at("/api/show", { model: id });
  if (!isRecord(shown)) return null;
  const set = /^num_ctx +(\d{1,9})$/m.exec(String(shown.parameters))?.[1];
  const facts = Object.entries(isRecord(shown.model_info) ? shown.model_info : {});
  return set === undefined ? positive(facts.find(([name]) => name.endsWith(".context_length"))?.[1]) : Number(set);
}

const positive = (value: unknown): number | null => (typeof value === "number" && value > 0 ? value : null);

/** The JSON that a server answers with; null for a failure of any kind. */
async function asked({ key }: ModelServer, url: string, limit: AbortSignal, body?: object): Promise<unknown> {
  const headers = { "content-type": "application/json", ...(key === null ? {} : { authorization: `Bearer ${key}` }) };
  const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  try {
    const answer = await fetchOut(fetch, url, { headers, ...sent, signal: limit });
    if (answer.ok) return (await boundedJson(answer, MAX_BYTES)) ?? null;
    await answer.body?.cancel();
  } catch {}
  return null;
}

/** Providers' names that stand for a server on a computer of its user. */
const LOCAL_NAMES = /^(?:local|ollama|lm-?studio|llama[.-]?cpp)$/i;

const PRIVATE = [
  ["127.0.0.0", 8],
  ["10.0.0.0", 8],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
  ["169.254.0.0", 16],
  ["::1", 128],
  ["fc00::", 7],
  ["fe80::", 10],
] as const;

let privateList: BlockList | undefined;

/** Made when it is first asked for: a cell without models needs none. */
function privateAddresses(): BlockList {
  if (privateList) return privateList;
  privateList = new BlockList();
  for (const [net, bits] of PRIVATE) privateList.addSubnet(net, bits, isIP(net) === 6 ? "ipv6" : "ipv4");
  return privateList;
}

/**
 * True for a server on a computer of its user, which may read a long prompt for minutes, by its
 * provider's name or its address.
 */
export function isLocalServer(provider: string, baseUrl: string | undefined): boolean {
  return LOCAL_NAMES.test(provider) || isPrivateAddress(baseUrl ?? "");
}

/**
 * True for an address of this computer or of a private network: other addresses may be those of a
 * provider.
 */
export function isPrivateAddress(baseUrl: string): boolean {
  const host = URL.parse(baseUrl)?.hostname.replace(/^\[|\]$/g, "") ?? "";
  if (host === "") return false;
  const version = isIP(host);
  if (version > 0) return privateAddresses().check(host, version === 6 ? "ipv6" : "ipv4");
  // A name without a dot is that of a computer or container beside this one.
  return !host.includes(".") || /\.(?:localhost|local|internal|lan|home\.arpa)$/.test(host);
}

/**
 * A server is asked again after this time, since it may have been started anew; sooner if it told
 * no window.
 */
const KNOWN_MS = 300_000;
const UNKNOWN_MS = 10_000;

/**
 * Tokens for each that is estimated, beyond what the provider has counted: code and tables have
 * more than prose.
 */
const DENSE = 4 / 3;

/** Facts of a window, and when they are asked for again, on the scale of `performance.now()`. */
interface Known {
  until: number;
  readonly facts: Promise<ServerWindow>;
}

/**
 * A model whose requests ask for no more tokens than its window leaves, and whose answers tell if
 * the window was full. Of a provider's model the adapter knows what is left, until a refusal tells
 * otherwise.
 *
 * @param serverOf says how a server of the user's own is asked; null: the model is a provider's
 */
export function withinWindow(model: Model, serverOf: (() => Promise<ModelServer>) | null): Model {
  let isLookedAfter = serverOf !== null;
  const isAsked = model.window === null && serverOf !== null;
  let known: Known = {
    until: isAsked ? 0 : Number.POSITIVE_INFINITY,
    facts: Promise.resolve({ window: model.window }),
  };
  /**
   * The tokens of the newest request, as they were estimated and as the provider has counted them.
   */
  let seen = { estimate: 0, tokens: 0 };

  async function factsOf(): Promise<ServerWindow> {
    if (serverOf === null || known.until > performance.now()) return known.facts;
    const facts = serverOf().then(serverWindow, () => ({ window: null }));
    const asked: Known = { until: performance.now() + KNOWN_MS, facts };
    known = asked;
    if ((await facts).window === null) asked.until = performance.now() + UNKNOWN_MS;
    return facts;
  }

  /** The tokens that the request may ask for, or why it is not sent. */
  async function roomFor(request: ModelRequest, estimate: number): Promise<number | SubCallError> {
    const { maxTokens } = request;
    const { window, count } = await factsOf();
    if (window === null) return maxTokens;
    // A token for eight characters is fewer than any text has.
    if (estimate / 2 > window) return tooLong(model, window, `at least ${Math.ceil(estimate / 2)}`);
    const expected = Math.ceil(Math.max(estimate / 2, seen.tokens + (estimate - seen.estimate) * DENSE));
    // A token for two characters is more than most texts have.
    if (!isLookedAfter || Math.max(2 * estimate, expected) + maxTokens <= window) return maxTokens;
    const counted = (await count?.(request)) ?? null;
    if (counted !== null && counted > window) return tooLong(model, window, `${counted}`);
    return Math.min(maxTokens, Math.max(window - (counted ?? expected), Math.ceil(window / LEAST_PART)));
  }

  return {
    ...model,
    askWindow: async () => (await factsOf()).window,
    async complete(request, signal) {
      // A request by batch waits for hours: its server is asked for nothing meanwhile.
      if (request.post) return model.complete(request, signal);
      const estimate = estimateRequest(request, null).input_tokens;
      const maxTokens = await roomFor(request, estimate);
      if (typeof maxTokens !== "number") return { ...unsent(maxTokens), isTooLong: true };
      const answer = await model.complete({ ...request, maxTokens }, signal);
      const { input, cache_read, cache_write, output } = answer.usage;
      const read = input + cache_read + cache_write;
      if (!answer.ok) {
        const refused = windowRefusalIn(answer.error.message);
        if (!(refused.input < refused.window && refused.input + maxTokens > refused.window)) return answer;
        isLookedAfter = true;
        seen = { estimate, tokens: refused.input };
        known = { ...known, facts: Promise.resolve({ window: refused.window }) };
        return { ...answer, isAdapted: true };
      }
      if (read === 0) return answer;
      seen = { estimate, tokens: read };
      const { window } = await factsOf();
      const isFull = window !== null && (maxTokens < request.maxTokens || read + output >= window - 1);
      if (answer.turn.stop !== "length" || !isFull) return answer;
      return { ...answer, turn: { ...answer.turn, full: { window, input: read, output } } };
    },
  };
}

/**
 * An answer may have this part of the window at least. If the estimate of the prompt was right, the
 * server cuts it.
 */
const LEAST_PART = 16;

function tooLong({ id }: Model, window: number, tokens: string): SubCallError {
  return failure("window_full", `${id}: the prompt has ${tokens} tokens, and the window of the model ${window}`);
}

/**
 * The window, and the tokens of a prompt that fits into it, in the words of OpenAI, vLLM, SGLang
 * and Anthropic about a limit of tokens that does not. NaN if the words are others.
 */
function windowRefusalIn(words: string): { readonly window: number; readonly input: number } {
  const [, input, window] = /(\d{1,9}) \+ \d{1,9} > (\d{1,9})/.exec(words) ?? [];
  if (window !== undefined) return { window: Number(window), input: Number(input) };
  const [, length] = /context length (?:is|of) (\d{1,9})/i.exec(words) ?? [];
  const [, prompt] = /(\d{1,9}) (?:in the messages|input tokens|tokens from the input)/i.exec(words) ?? [];
  return { window: Number(length), input: Number(prompt) };
}
