import { firstly, RlmError, remedy } from "../../runtime/index.ts";
import { boundedJson } from "../platform/bounded-reads.ts";
import { isRecord } from "../platform/json.ts";
import { isLeftOutPart, leftOutParts } from "../platform/left-out.ts";
import { fetchOut, nullUnlessOutbound } from "../platform/outbound.ts";
import { shellWord } from "../platform/shell-word.ts";
import { type Env, MAX_LIST_BYTES, refreshLists, storeFile } from "./fetched.ts";
import { defaultModels, PROVIDERS } from "./keys/keys.ts";
import { agentDirOf, readPiFiles } from "./keys/pi-files.ts";
import { endOf, type ModelEnd } from "./model-ends.ts";
import { allModels, loadPiAi, meantAmong } from "./pi-ai/catalog.ts";
import { type RegistryOptions, registeredModel, registeredPrice, serverModel, withKeys } from "./pi-ai/registry.ts";
import type { Model, Models } from "./port.ts";
import { windowIn } from "./server-window.ts";

interface ModelsOptions {
  /** The model for calls that name none, `provider/id`. */
  readonly model?: string | undefined;
  /**
   * Models that cells may name beside those of its provider: `provider/id`, or `provider/*` for all
   * of a provider.
   */
  readonly models?: readonly string[] | undefined;
  /**
   * An OpenAI-compatible server, with its path (`http://127.0.0.1:8080/v1`): every name is then a
   * model there.
   */
  readonly baseUrl?: string | undefined;
  /** The environment variable that holds the API key; it goes before all other places. */
  readonly apiKeyEnv?: string | undefined;
  /** `IN/OUT`: dollars per million tokens of models whose price no list knows. */
  readonly price?: string | undefined;
  /**
   * Parts that models are not asked with, with commas between: `schema`, `cache`, or
   * `PART@PROVIDER/ID`.
   */
  readonly leaveOut?: string | undefined;
  readonly env: Env;
  /**
   * Pi's folder with auth.json and models.json (default: `PI_CODING_AGENT_DIR`, else
   * `~/.pi/agent`).
   */
  readonly agentDir?: string | undefined;
  /** Milliseconds since 1970: tells whether a login has expired. */
  readonly now?: () => number;
}

/**
 * Models by name. Nothing is read or loaded before the first `resolve`.
 *
 * @throws RlmError `invalid_argument` if the base URL is not one, or a part cannot be left out
 */
export function openModels(options: ModelsOptions): Models {
  const { baseUrl, env, apiKeyEnv, now = Date.now } = options;
  if (baseUrl !== undefined) checkBaseUrl(baseUrl);
  const registry = {
    env,
    apiKeyEnv,
    now,
    price: priceOf(options.price),
    leaveOut: leftOut(options.leaveOut),
    agentDir: options.agentDir ?? agentDirOf(env),
  };
  const cure = () =>
    baseUrl === undefined ? noModelCure(env, registry.agentDir) : `${firstly("nameModel")}, for example local/NAME.`;
  const opened = new Map<string, Model>();
  const nameOf = (name: string | null): string => {
    const wanted = name ?? options.model;
    if (wanted !== undefined) return wanted;
    throw new RlmError("no_model_configured", "no model is configured", { suggestion: cure() });
  };
  return {
    fallback: options.model ?? null,
    unlisted: (names) => [...new Set(names)].filter((name) => opened.get(name)?.unlisted),
    noModelCure: cure,
    refusal(name) {
      const isOwn = (one = "") => providerOf(one) === providerOf(name);
      const isNamed = (options.models ?? []).some((one) => one === name || (one.endsWith("/*") && isOwn(one)));
      if (baseUrl !== undefined || isOwn(options.model) || isNamed) return null;
      return refusalOf(name, registry.agentDir, env);
    },
    price: (name) => (baseUrl === undefined ? registeredPrice(nameOf(name), registry) : registry.price),
    resolve(name) {
      const wanted = nameOf(name);
      const known = opened.get(wanted);
      if (known) return known;
      const model = baseUrl === undefined ? registeredModel(wanted, registry) : serverModel(wanted, baseUrl, registry);
      opened.set(wanted, model);
      return model;
    },
  };
}

/**
 * Empty for a name without its provider: nothing is found under it, and the nearest names are told.
 */
const providerOf = (name: string) => name.slice(0, Math.max(0, name.indexOf("/")));

/**
 * The refusal of a model that a cell names, unless its provider is in the user's Pi: a login, or an
 * entry in models.json. A key among the variables of a process says nothing about who may be asked.
 *
 * @throws RlmError `invalid_config` for files of Pi that cannot be read
 */
export function refusalOf(name: string, agentDir: string, env: Env): RlmError | null {
  const { credentials, providers } = readPiFiles(agentDir, env);
  const provider = providerOf(name);
  if (provider === "" || credentials.has(provider) || providers.has(provider)) return null;
  return new RlmError("policy_violation", `a cell may not name ${name}, a model of another provider`, {
    suggestion: `Leave \`model\` out, or ${remedy("nameModels", shellWord(name))}.`,
  });
}

/** A cure for a user who named no model, by the keys that there are. */
export function noModelCure(env: Env, agentDir?: string): string {
  const names = defaultModels(env, agentDir);
  if (names.length > 0) return `${firstly("nameModel")}, for example ${names.join(" or ")}: there are keys for these.`;
  const variables = Object.values(PROVIDERS).map(({ variable }) => variable);
  return `${firstly("setKey", variables.join(", "))}, or ${remedy("nameServer")}.`;
}

/** The price that `IN/OUT` says; null: none. */
export function priceOf(text: string | undefined): Model["price"] {
  const [input, output] = (text ?? "").split("/").map(Number);
  return input === undefined || output === undefined || text === undefined ? null : { input, output };
}

/** @throws RlmError `invalid_argument` for what is not a part of requests */
function leftOut(text: string | undefined): readonly string[] {
  const parts = text === undefined ? [] : leftOutParts(text);
  const odd = parts.find((part) => !isLeftOutPart(part));
  if (odd === undefined) return parts;
  throw new RlmError("invalid_argument", `leaveOut: ${odd || "an empty text"} is not a part that can be left out`, {
    suggestion: "Pass schema or cache, each for all models or as PART@PROVIDER/ID, with commas between.",
  });
}

function checkBaseUrl(baseUrl: string): void {
  const url = URL.parse(baseUrl);
  const suggestion = `Pass an address such as http://127.0.0.1:8080/v1; for a key ${remedy("nameKey")}.`;
  // A message must not repeat an address that holds a password.
  if (url?.username || url?.password)
    throw new RlmError("invalid_argument", "the base URL contains a password", { suggestion });
  if (url?.protocol === "http:" || url?.protocol === "https:") return;
  throw new RlmError("invalid_argument", `${baseUrl} is not an http address`, { suggestion });
}

/** Returns these models with another one for calls that name none; null: with their own. */
export function withFallback(models: Models, fallback: string | null): Models {
  if (fallback === null) return models;
  return {
    ...models,
    fallback,
    resolve: (name) => models.resolve(name ?? fallback),
    price: (name) => models.price(name ?? fallback),
  };
}

/** A model that can be named. */
export interface ModelFacts {
  /** `provider/id`. */
  readonly id: string;
  readonly window: Model["window"];
  readonly price: Model["price"];
  /** True if it can think before it answers. */
  readonly thinking: boolean;
  /** True if requests to its provider would have a key. */
  readonly has_key: boolean;
  /** The day of its end, and the successor that its provider names; null if no end is known. */
  readonly end: ModelEnd | null;
}

/**
 * The models of pi-ai, of fetched lists and of models.json.
 *
 * @throws RlmError `invalid_config` for a broken file of Pi
 */
export function listModels(env: Env, apiKeyEnv?: string): readonly ModelFacts[] {
  const options = registryOptions(env, apiKeyEnv);
  const files = readPiFiles(options.agentDir, env);
  const listed = allModels(loadPiAi(), files);
  const providers = listed.map(({ model }) => model.provider);
  const keyed = withKeys(providers, files, options);
  return listed.map(({ model, price, window }) => ({
    id: `${model.provider}/${model.id}`,
    end: endOf(`${model.provider}/${model.id}`) ?? null,
    window,
    price: price && (price.input > 0 || price.output > 0) ? price : null,
    thinking: model.reasoning,
    has_key: keyed.has(model.provider),
  }));
}

/** Models, `provider/id`, that may be meant by a name without its provider, the likeliest first. */
export function modelsMeantBy(typed: string, env: Env): readonly string[] {
  return meantAmong(typed, listModels(env));
}

/**
 * Fetches newer lists of the providers that have a key. Returns those that failed. No key is sent.
 */
export function refreshModels(env: Env, from: string): Promise<string[]> {
  const options = registryOptions(env);
  const files = readPiFiles(options.agentDir, env);
  const keyed = withKeys(loadPiAi().getProviders(), files, options);
  return refreshLists(from, [...keyed], storeFile(env));
}

const registryOptions = (env: Env, apiKeyEnv?: string): RegistryOptions => ({
  env,
  agentDir: agentDirOf(env),
  apiKeyEnv,
  now: Date.now,
});

const TIMEOUT_MS = 5000;

/**
 * The models that an OpenAI-compatible server lists; null if it gives no list. @throws
 * OutboundError
 */
export async function modelsAt(baseUrl: string, key: string | undefined): Promise<readonly ModelFacts[] | null> {
  const body = await listAt(baseUrl, key).catch(nullUnlessOutbound);
  const data = isRecord(body) ? body.data : null;
  if (!Array.isArray(data)) return null;
  return data.flatMap((entry: unknown) => {
    // A name with blanks could not be typed as one.
    if (!isRecord(entry) || typeof entry.id !== "string" || !/^\S+$/.test(entry.id)) return [];
    const facts = { window: windowIn(entry), price: null, thinking: false, has_key: true, end: null };
    return [{ id: `local/${entry.id}`, ...facts }];
  });
}

async function listAt(baseUrl: string, key: string | undefined): Promise<unknown> {
  const answer = await fetchOut(fetch, `${baseUrl.replace(/\/$/, "")}/models`, {
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  return answer.ok ? boundedJson(answer, MAX_LIST_BYTES) : null;
}
