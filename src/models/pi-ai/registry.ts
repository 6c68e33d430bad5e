import { type Authorization, authorize, type KeySources, namedKey } from "../keys/keys.ts";
import { type PiFiles, readPiFiles } from "../keys/pi-files.ts";
import type { Model } from "../port.ts";
import { isLogin } from "./batches.ts";
import {
  allNames,
  findModel,
  type ListedModel,
  loadPiAi,
  meantAmong,
  modelAt,
  type PiAi,
  readModelName,
} from "./catalog.ts";
import { piAiModel } from "./model.ts";

export interface RegistryOptions extends Pick<KeySources, "env" | "apiKeyEnv" | "now"> {
  readonly agentDir: string;
  /** The price of models whose price no list knows. */
  readonly price?: Model["price"];
  /** Parts that models are not asked with: `schema`, `schema@local/m`, `schema@local/*`. */
  readonly leaveOut?: readonly string[];
}

/**
 * The key that is sent if a server is named without one: OpenAI's SDK does not send without a key.
 */
const PLACEHOLDER_KEY = "none";

/** A model of the server at `baseUrl`. Keys of other providers are never sent there. */
export function serverModel(name: string, baseUrl: string, options: RegistryOptions): Model {
  const listed = pricedBy(modelAt(baseUrl, readModelName(name)), options);
  const key = options.apiKeyEnv === undefined ? PLACEHOLDER_KEY : namedKey(options.apiKeyEnv, options.env);
  const authorization: Authorization = { key, headers: {}, expires: Number.POSITIVE_INFINITY };
  return piAiModel({
    ...listed,
    isNamed: true,
    leavesOut: leftOutOf(listed, options),
    takesBatches: true,
    authorize: () => authorization,
    load: loadPiAi,
  });
}

/**
 * A model of pi-ai's list or of the user's models.json. Its key is looked for at once, and again
 * when it has expired: the user's Pi may have renewed a login in the meantime.
 *
 * @throws RlmError `no_model_configured`, `auth_expired`, `invalid_config`
 */
export function registeredModel(name: string, options: RegistryOptions): Model {
  const { env, agentDir, apiKeyEnv, now } = options;
  const piAi = loadPiAi();
  const files = readPiFiles(agentDir);
  const { provider, id } = readModelName(name, (bare) => meantAmong(bare, namesWithKeys(piAi, files, options)));
  const listed = pricedBy(findModel(piAi, files, { provider, id }), options);
  const find = (from: PiFiles) =>
    authorize(provider, listed.headers, { env, apiKeyEnv, files: from, envNames: keyNames(piAi, provider), now });
  let authorization = find(files);
  return piAiModel({
    ...listed,
    leavesOut: leftOutOf(listed, options),
    takesBatches: !isLogin(authorization),
    authorize: () => {
      if (now() >= authorization.expires) authorization = find(readPiFiles(agentDir));
      return behindLogin(provider, authorization, files);
    },
    load: () => piAi,
  });
}

/**
 * Names of the variables that hold a provider's key: pi-ai tells those that are set, so it is asked
 * as if all were.
 */
function keyNames(piAi: PiAi, provider: string): readonly string[] {
  const all = new Proxy<Record<string, string>>({}, { get: () => "set" });
  // ANTHROPIC_AUTH_TOKEN holds no key: its value is sent as `Authorization: Bearer`.
  return (piAi.findEnvKeys(provider, all) ?? []).filter((name) => name !== "ANTHROPIC_AUTH_TOKEN");
}

/** True if requests to this provider would have a key; no key is shown. */
function hasKey(provider: string, files: PiFiles, { env, apiKeyEnv, now }: RegistryOptions): boolean {
  try {
    const sources = { env, apiKeyEnv, files, envNames: keyNames(loadPiAi(), provider), now };
    const { key, headers } = authorize(provider, {}, sources);
    return key !== null || "Authorization" in headers;
  } catch {
    return false;
  }
}

/** Those of the providers to which requests would have a key. */
export function withKeys(providers: readonly string[], files: PiFiles, options: RegistryOptions): ReadonlySet<string> {
  return new Set([...new Set(providers)].filter((provider) => hasKey(provider, files, options)));
}

function namesWithKeys(piAi: PiAi, files: PiFiles, options: RegistryOptions) {
  const names = allNames(piAi, files);
  const providerOf = (id: string) => id.slice(0, id.indexOf("/"));
  const keyed = withKeys(names.map(providerOf), files, options);
  return names.map((id) => ({ id, has_key: keyed.has(providerOf(id)) }));
}

/** @throws RlmError `no_model_configured` for an unknown name */
export function registeredPrice(name: string, options: RegistryOptions): Model["price"] {
  return pricedBy(findModel(loadPiAi(), readPiFiles(options.agentDir), readModelName(name)), options).price;
}

/**
 * Gives a model without a price the user's. The user names two: input from a cache costs as other
 * input.
 */
function pricedBy(listed: ListedModel, { price }: RegistryOptions): ListedModel {
  if (listed.price !== null || !price) return listed;
  const { input, output } = price;
  const cost = { input, output, cacheRead: input, cacheWrite: input };
  return { ...listed, model: { ...listed.model, cost }, price };
}

/** The parts that this model is not asked with. */
function leftOutOf({ model }: ListedModel, { leaveOut = [] }: RegistryOptions): readonly string[] {
  const names = [undefined, `${model.provider}/${model.id}`, `${model.provider}/*`];
  return leaveOut.flatMap((one) => {
    const [part = "", name] = one.split(/@(.*)/);
    return names.includes(name) ? [part] : [];
  });
}

/** Some logins (GitHub Copilot) say at which address their models are. */
async function behindLogin(provider: string, authorization: Authorization, files: PiFiles): Promise<Authorization> {
  const login = files.credentials.get(provider);
  if (login?.type !== "oauth" || login.access !== authorization.key) return authorization;
  await loadPiAi().loadLogins();
  const known = loadPiAi()
    .builtinProviders()
    .find(({ id }) => id === provider);
  const auth = await known?.auth.oauth?.toAuth(login);
  return auth?.baseUrl === undefined ? authorization : { ...authorization, baseUrl: auth.baseUrl };
}
