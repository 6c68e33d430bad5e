import { boundedJson } from "../platform/bounded-json.ts";
import { isRecord } from "../platform/json.ts";
import { fetchOut, nullUnlessOutbound } from "../platform/outbound.ts";
import type { Env } from "./fetched.ts";
import { MAX_LIST_BYTES, refreshLists, storeFile } from "./fetched.ts";
import { agentDirOf, readPiFiles } from "./keys/pi-files.ts";
import { meantAmong } from "./meant-models.ts";
import { endOf, type ModelEnd } from "./model-ends.ts";
import { allModels } from "./pi-ai/catalog.ts";
import { loadPiAi } from "./pi-ai/load.ts";
import { type RegistryOptions, withKeys } from "./pi-ai/registry.ts";
import type { Model } from "./port.ts";
import { windowIn } from "./server-window.ts";

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
