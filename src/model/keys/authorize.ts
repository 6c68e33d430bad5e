import { firstly, RlmError, remedy } from "../../../runtime/index.ts";
import { type Env, type PiCredential, type PiFiles, resolveEntry } from "./pi-files.ts";
import { isKey, placeholderProblem } from "./variables.ts";

/** The credentials of a request. */
export interface Authorization {
  /** Null if the provider's SDK finds its credentials itself (AWS, Google Cloud). */
  readonly key: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** The address of the login's models, if it is not that of the list. */
  readonly baseUrl?: string;
  /** When it ceases to work, ms since 1970. */
  readonly expires: number;
}

export interface KeySources {
  readonly env: Env;
  /** The variable that the user named. */
  readonly apiKeyEnv: string | undefined;
  readonly files: PiFiles;
  /** Names of the variables that pi-ai looks at for this provider, whether set or not. */
  readonly envNames: readonly string[];
  readonly now: () => number;
}

/** A place where keys were looked for: what was found there, or why it cannot be used. */
type Found = { readonly key: string; readonly expires: number } | RlmError | undefined;

/** Providers whose SDK finds credentials in places of its own. */
const AMBIENT = new Set(["amazon-bedrock", "google-vertex"]);

/**
 * The key and headers for a provider (semantics 36): the variable that the user named, pi-ai's variables, keys of Pi's
 * auth.json and models.json, a login of auth.json that has not expired (it is never refreshed).
 *
 * @throws RlmError `auth_expired`, or `no_model_configured` if there is no key
 */
export function authorize(
  provider: string,
  modelHeaders: Readonly<Record<string, string>>,
  sources: KeySources,
): Authorization {
  const entry = sources.files.providers.get(provider);
  const token = bearerToken(provider, sources);
  const { key, expires } = token === undefined ? keyOf(provider, sources) : lasting(null);
  const headers: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  for (const [name, value] of Object.entries({ ...entry?.headers, ...modelHeaders })) {
    headers[name] = resolveEntry(value, sources.env, `the header ${name} of ${provider} in models.json`);
  }
  if (entry?.authHeader && key !== null) headers.Authorization = `Bearer ${key}`;
  return { key, headers, expires };
}

/** @throws RlmError `no_model_configured` if the variable is not set */
export function namedKey(name: string, env: Env): string {
  const key = keyIn(name, env);
  if (typeof key === "string") return key;
  throw key;
}

/** The key in a variable, or that it is not set: a text in place of which a key belongs is none. */
function keyIn(name: string, env: Env): string | RlmError {
  const value = env[name] ?? "";
  const problem = placeholderProblem(value);
  if (value !== "" && problem === null) return value;
  const why = problem === null ? "" : `: ${problem}`;
  return new RlmError("no_model_configured", `the environment variable ${name} is not set${why}`, {
    suggestion: `${problem === null ? "Set it to the API key" : "Put the API key itself there"}, or ${remedy("nameKey")}.`,
  });
}

function keyOf(provider: string, sources: KeySources): { key: string | null; expires: number } {
  if (sources.apiKeyEnv !== undefined) return lasting(namedKey(sources.apiKeyEnv, sources.env));
  let unusable: RlmError | undefined;
  for (const find of [fromEnv, fromAuthFile, fromModelsFile, fromLogin]) {
    const found = find(provider, sources);
    if (found instanceof RlmError) unusable = found;
    else if (found) return found;
  }
  if (unusable) throw unusable;
  if (AMBIENT.has(provider)) return lasting(null);
  throw new RlmError("no_model_configured", `no API key for the provider ${provider}`, {
    suggestion: noKeyCure(sources.envNames.at(-1)),
  });
}

function noKeyCure(variable: string | undefined): string {
  if (variable === undefined) return `${firstly("nameKey")}, or run pi and /login.`;
  return `Set ${variable}, ${remedy("nameKey")}, or run pi and /login.`;
}

function fromEnv(_provider: string, { env, envNames }: KeySources): Found {
  const found = envNames.filter((name) => env[name]).map((name) => keyIn(name, env));
  const key = found.find((each) => typeof each === "string");
  return key === undefined ? (found[0] instanceof RlmError ? found[0] : undefined) : lasting(key);
}

function fromAuthFile(provider: string, { env, files }: KeySources): Found {
  const credential = files.credentials.get(provider);
  return credential?.type === "api_key" ? read(credential.key, env, `the key of ${provider} in auth.json`) : undefined;
}

function fromModelsFile(provider: string, { env, files }: KeySources): Found {
  const key = files.providers.get(provider)?.apiKey;
  return key === undefined ? undefined : read(key, env, `the key of ${provider} in models.json`);
}

function fromLogin(provider: string, { files, now }: KeySources): Found {
  const login: PiCredential | undefined = files.credentials.get(provider);
  if (login?.type !== "oauth") return undefined;
  if (now() < login.expires) return { key: login.access, expires: login.expires };
  return new RlmError("auth_expired", `the login for ${provider} has expired`, { suggestion: "Run pi and /login." });
}

/** The token of a gateway in front of Anthropic: it goes as a bearer token and never as a key. A key goes before it. */
function bearerToken(provider: string, { env, apiKeyEnv, envNames }: KeySources): string | undefined {
  if (provider !== "anthropic" || apiKeyEnv !== undefined || envNames.some((name) => isKey(env[name])))
    return undefined;
  return isKey(env.ANTHROPIC_AUTH_TOKEN) ? env.ANTHROPIC_AUTH_TOKEN : undefined;
}

/** A value that is a command is a reason to look further, not yet a failure. */
function read(entry: string, env: Env, what: string): Found {
  try {
    return lasting(resolveEntry(entry, env, what));
  } catch (error) {
    if (error instanceof RlmError) return error;
    throw error;
  }
}

function lasting<Key extends string | null>(key: Key): { key: Key; expires: number } {
  return { key, expires: Number.POSITIVE_INFINITY };
}
