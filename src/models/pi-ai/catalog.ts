import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { Api, KnownProvider, Model as PiModel } from "belay-pi-ai";
import { RlmError, remedy } from "../../../runtime/index.ts";
import { entryUrl } from "../../entries.ts";
import { isRecord, withoutUndefined } from "../../platform/json.ts";
import { PROVIDERS } from "../keys/keys.ts";
import type { PiFiles, PiModelEntry, PiModelFields, PiProvider } from "../keys/pi-files.ts";
import type { Model, Price } from "../port.ts";

export interface ListedModel {
  readonly model: PiModel<Api>;
  readonly price: Model["price"];
  readonly window: Model["window"];
  /**
   * No list has it: it is asked for by its name, as the listed model of its provider that is named
   * most like it.
   */
  readonly near?: readonly string[];
  /** Headers that models.json wants for this model; values as in the file. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A provider and the model's id there, which may itself contain slashes. */
interface ModelName {
  readonly provider: string;
  readonly id: string;
}

/**
 * @param known names that may be meant by another one
 * @throws RlmError `no_model_configured` for what is not PROVIDER/ID
 */
export function readModelName(name: string, known: (name: string) => readonly string[] = () => []): ModelName {
  const slash = name.indexOf("/");
  if (slash > 0 && slash < name.length - 1) return { provider: name.slice(0, slash), id: name.slice(slash + 1) };
  const meant = known(name);
  const question = meant.length > 0 ? `Did you mean ${meant.join(", ")}? ` : "";
  throw new RlmError("no_model_configured", `${name} is not a model's name: names are PROVIDER/ID`, {
    suggestion: `${question}Write it as PROVIDER/ID; for local/NAME, ${remedy("nameServer")}.`,
  });
}

/** A model of any OpenAI-compatible server. */
export function modelAt(baseUrl: string, { provider, id }: ModelName): ListedModel {
  const official = URL.parse(baseUrl)?.hostname.endsWith(".openai.com") ?? false;
  return {
    model: { ...UNLISTED, id, name: id, provider, baseUrl, ...(official ? {} : PLAIN) },
    price: null,
    window: null,
    headers: {},
  };
}

/** Facts that pi-ai needs about a model that no list describes. */
const UNLISTED = {
  api: "openai-completions",
  reasoning: false,
  input: ["text"] satisfies PiModel<Api>["input"],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  contextWindow: 128_000,
  // No limit of its own: a request's maxTokens goes out as it is.
  maxTokens: 0,
};

/**
 * Servers that imitate the protocol know its first fields: an unknown limit of tokens would be
 * ignored.
 */
const PLAIN = {
  compat: { supportsStore: false, supportsDeveloperRole: false, maxTokensField: "max_tokens" },
} satisfies Pick<PiModel<"openai-completions">, "compat">;

/**
 * A model by name: from models.json, else from pi-ai's list with what models.json changes in it.
 *
 * @throws RlmError `no_model_configured` naming the nearest known names
 */
export function findModel(piAi: PiAi, files: PiFiles, name: ModelName): ListedModel {
  const provider = files.providers.get(name.provider);
  const listed = listedModels(piAi, files, name.provider);
  const entry = provider?.models.find((candidate) => candidate.id === name.id);
  const custom = provider && entry ? customModel(name.provider, provider, entry, listed[0]) : undefined;
  if (custom) return custom;
  const model = listed.find((candidate) => candidate.id === name.id);
  if (model) return overridden(model, provider);
  const like = mostLike(name.id, listed);
  if (like) return unlisted(name, overridden(like, provider), allNames(piAi, files));
  const [first] = provider?.models ?? [];
  const own =
    provider && first ? customModel(name.provider, provider, { ...first, id: name.id }, undefined) : undefined;
  if (own) return unlisted(name, own, allNames(piAi, files));
  throw unknownModel(name, allNames(piAi, files));
}

/** The listed model whose protocol and habits an unlisted one is taken to have. */
function mostLike(id: string, listed: readonly PiModel<Api>[]): PiModel<Api> | undefined {
  const chat = listed.filter(({ input }) => input.includes("text"));
  const ids = chat.map((model) => model.id);
  const [nearest] = nearestNames(id, ids, 1);
  return chat.find((model) => model.id === nearest) ?? chat[0];
}

function unlisted({ provider, id }: ModelName, { model, headers }: ListedModel, known: readonly string[]): ListedModel {
  const near = nearestNames(`${provider}/${id}`, known);
  const named = { ...model, provider, id, name: id, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } };
  return { model: named, price: null, window: null, near, headers };
}

/** Every model that a list has or models.json defines. */
export function allModels(piAi: PiAi, files: PiFiles): ListedModel[] {
  const names = new Set([...piAi.getProviders(), ...files.providers.keys()]);
  return [...names].flatMap((name) => {
    const provider = files.providers.get(name);
    const listed = listedModels(piAi, files, name);
    const own = provider?.models.flatMap((entry) => customModel(name, provider, entry, listed[0]) ?? []) ?? [];
    const ids = new Set(own.map(({ model }) => model.id));
    return [...listed.filter(({ id }) => !ids.has(id)).map((model) => overridden(model, provider)), ...own];
  });
}

function listedModels(piAi: PiAi, { fetched }: Pick<PiFiles, "fetched">, provider: string): PiModel<Api>[] {
  const isKnown = (name: string): name is KnownProvider => piAi.getProviders().some((known) => known === name);
  const built: PiModel<Api>[] = isKnown(provider) ? piAi.getModels(provider) : [];
  const later = fetched.get(provider);
  if (!later || later.lastModified <= (piAi.getBuiltinModelDataGeneratedAt() ?? 0)) return built;
  const models = later.models
    .filter((model) => isUsable(model, built))
    .map((model) => ({ ...model, provider, headers: {} }));
  const ids = new Set(models.map(({ id }) => id));
  return [...built.filter(({ id }) => !ids.has(id)), ...models];
}

/**
 * A fetched list names new models. It cannot change where a provider's key goes, nor bring a
 * protocol.
 */
function isUsable(model: unknown, built: readonly PiModel<Api>[]): model is PiModel<Api> {
  if (!isRecord(model) || typeof model.id !== "string" || (model.type ?? "chat") !== "chat") return false;
  if (!isRecord(model.cost) || typeof model.contextWindow !== "number" || !Array.isArray(model.input)) return false;
  return built.some(({ api, baseUrl }) => api === model.api && baseUrl === model.baseUrl);
}

/**
 * A model that models.json defines; what it leaves out comes from another model of that provider.
 */
function customModel(
  name: string,
  provider: PiProvider,
  entry: PiModelEntry,
  sibling: PiModel<Api> | undefined,
): ListedModel | undefined {
  const api = entry.api ?? provider.api ?? sibling?.api;
  const baseUrl = entry.baseUrl ?? provider.baseUrl ?? sibling?.baseUrl;
  if (api === undefined || baseUrl === undefined) return undefined;
  const { id } = entry;
  const base = { ...UNLISTED, id, name: id, api, baseUrl, provider: name, maxTokens: 16_384 };
  const model = changed({ ...base, ...compatOf(provider.compat) }, entry);
  const price = entry.cost ? priceIn(model) : null;
  return { model, price, window: entry.contextWindow ?? null, headers: entry.headers ?? {} };
}

function overridden(listed: PiModel<Api>, provider: PiProvider | undefined): ListedModel {
  const overrides: PiModelFields = provider?.modelOverrides[listed.id] ?? {};
  const baseUrl = provider?.baseUrl ?? listed.baseUrl;
  const compat = compatOf({ ...listed.compat, ...provider?.compat });
  const model = changed({ ...listed, baseUrl, ...(provider?.compat ? compat : {}) }, overrides);
  return { model, price: priceIn(model), window: model.contextWindow, headers: overrides.headers ?? {} };
}

/** A model with the fields of an entry of models.json. */
function changed(model: PiModel<Api>, entry: PiModelFields): PiModel<Api> {
  const { reasoning, contextWindow, maxTokens, cost, compat, thinkingLevelMap, samplingParams } = entry;
  return {
    ...model,
    ...withoutUndefined({ reasoning, contextWindow, maxTokens }),
    ...(cost ? { cost: { ...model.cost, ...withoutUndefined(cost) } } : {}),
    ...(samplingParams ? { samplingParams } : {}),
    ...(compat ? compatOf({ ...model.compat, ...compat }) : {}),
    ...(thinkingLevelMap ? { thinkingLevelMap: { ...model.thinkingLevelMap, ...thinkingLevelMap } } : {}),
  };
}

/** The price in pi-ai's description of a model. */
export function priceIn({ cost: { input, output, tiers = [] } }: Pick<PiModel<Api>, "cost">): Price {
  if (tiers.length === 0) return { input, output };
  const above = tiers.map((tier) => ({ above: tier.inputTokensAbove, input: tier.input, output: tier.output }));
  return { input, output, tiers: above };
}

function compatOf(compat: unknown): Pick<PiModel<Api>, "compat"> {
  return isCompat(compat) ? { compat } : {};
}

/** All fields are optional, and pi-ai passes over those it does not know. */
function isCompat(value: unknown): value is NonNullable<PiModel<Api>["compat"]> {
  return isRecord(value);
}

/** Names of all models of lists and of models.json. */
export function allNames(piAi: PiAi, files: PiFiles): string[] {
  const listed = piAi.getProviders().flatMap((provider) => listedModels(piAi, files, provider));
  const custom = Array.from(files.providers, ([name, provider]) => provider.models.map(({ id }) => `${name}/${id}`));
  return [...listed.map((model) => `${model.provider}/${model.id}`), ...custom.flat()];
}

function unknownModel({ provider, id }: ModelName, known: readonly string[]): RlmError {
  const near = nearestNames(`${provider}/${id}`, known);
  const isProvider = known.some((name) => name.startsWith(`${provider}/`));
  const providers = isProvider ? "" : `Providers are ${Object.keys(PROVIDERS).join(", ")} and others. `;
  const question = near.length > 0 ? `Did you mean ${near.join(", ")}? ` : providers;
  return new RlmError("no_model_configured", `unknown ${isProvider ? "model" : "provider in"} ${provider}/${id}`, {
    suggestion: `${question}Any name goes if you ${remedy("nameServer")}.`,
  });
}

type Copy = typeof import("./copy-entry.ts");

/** The functions of pi-ai that are used. A host may lend its own copy of what sends. */
export type PiAi = Pick<
  Copy,
  "streamSimple" | "getModels" | "getProviders" | "findEnvKeys" | "getBuiltinModelDataGeneratedAt"
>;

const require = createRequire(import.meta.url);

/**
 * Our copy of pi-ai with its list of models, loaded at the first call and blocking: a model is
 * resolved inside synchronous code, and commands that call none must not wait for it. A build has
 * it as a file of its own, providers' SDKs included, each in a chunk that the first request to its
 * protocol loads.
 */
export function loadPiAi(): Copy {
  return require(fileURLToPath(entryUrl("models/pi-ai/copy-entry")));
}

/** A model that can be named. */
interface Named {
  /** `provider/id`. */
  readonly id: string;
  /** True if requests to its provider would have a key. */
  readonly has_key: boolean;
}

/**
 * Models that may be meant by a name without its provider, the likeliest first: the same id before
 * one that is spelt like it, and a provider with a key before others.
 */
export function meantAmong(typed: string, models: readonly Named[]): readonly string[] {
  const listed = models.map(({ id, has_key }) => ({ id, has_key, short: shortName(id) }));
  const inOrder = listed.toSorted((one, other) => rankOf(one) - rankOf(other));
  const same = inOrder.filter(({ short }) => short === shortName(typed));
  const alike = nearestNames(shortName(typed), new Set(inOrder.map(({ short }) => short)));
  const near = alike.flatMap((name) => inOrder.find(({ short }) => short === name) ?? []);
  near.sort((one, other) => rankOf(one) - rankOf(other));
  return (same.length > 0 ? same : near).slice(0, MEANT).map(({ id }) => id);
}

const MEANT = 3;

/**
 * Letters and digits of a model's id without its provider and maker. Providers write `4.5` and
 * `4-5` of the same version.
 */
function shortName(id: string): string {
  const last = id.slice(id.lastIndexOf("/") + 1);
  return last.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
}

/** Providers with a key come first, and of the others the common ones. */
function rankOf({ id, has_key }: Named): number {
  const common = Object.keys(PROVIDERS).indexOf(id.slice(0, id.indexOf("/")));
  return (has_key ? 0 : 100) + (common < 0 ? 99 : common);
}

/** Below this share of common letter pairs a name is not worth proposing. */
const ALIKE = 0.4;

/**
 * The names that look most like the typed one, best first. Names of models differ by whole parts
 * (provider, version, date) rather than by a letter or two. So they are compared by the letter
 * pairs that they have in common. `src/nearest.ts`, for options and keys, counts letters: it misses
 * models under another provider, and this misses short words.
 */
export function nearestNames(typed: string, names: Iterable<string>, most = 3): string[] {
  const wanted = pairsOf(typed);
  const ranked = Array.from(names, (name) => ({ name, alike: alike(wanted, pairsOf(name)) }));
  return ranked
    .filter((entry) => entry.alike >= ALIKE)
    .sort((a, b) => b.alike - a.alike || (a.name < b.name ? -1 : 1))
    .slice(0, most)
    .map((entry) => entry.name);
}

function pairsOf(name: string): Set<string> {
  const letters = name.toLowerCase();
  return new Set(Array.from({ length: Math.max(0, letters.length - 1) }, (_, at) => letters.slice(at, at + 2)));
}

/** 0 for nothing in common, 1 for the same pairs (Dice's coefficient). */
function alike(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let common = 0;
  for (const pair of a) if (b.has(pair)) common++;
  return common === 0 ? 0 : (2 * common) / (a.size + b.size);
}
