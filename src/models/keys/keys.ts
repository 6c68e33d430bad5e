import { firstly, RlmError, remedy } from "../../../runtime/index.ts";
import type { Env } from "../fetched.ts";
import { agentDirOf, type PiFiles, readPiFiles, resolveEntry } from "./pi-files.ts";

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

/** A key and when it ceases to work. */
type Found<Key = string> = Pick<Authorization, "expires"> & { readonly key: Key };

/** Providers whose SDK finds credentials in places of its own. */
const AMBIENT = new Set(["amazon-bedrock", "google-vertex"]);

/**
 * The key and headers for a provider (semantics 36): the variable that the user named, pi-ai's
 * variables, keys of Pi's auth.json and models.json, a login of auth.json that has not expired (it
 * is never refreshed).
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

/**
 * The key in a variable. A text in place of which a key belongs is none.
 * @throws RlmError `no_model_configured` if the variable is not set
 */
export function namedKey(name: string, env: Env): string {
  const value = env[name] ?? "";
  const problem = placeholderProblem(value);
  if (value !== "" && problem === null) return value;
  const why = problem === null ? "" : `: ${problem}`;
  throw new RlmError("no_model_configured", `the environment variable ${name} is not set${why}`, {
    suggestion: `${problem === null ? "Set it to the API key" : "Put the API key itself there"}, or ${remedy("nameKey")}.`,
  });
}

function keyOf(provider: string, sources: KeySources): Found<string | null> {
  if (sources.apiKeyEnv !== undefined) return lasting(namedKey(sources.apiKeyEnv, sources.env));
  let unusable: unknown;
  for (const find of [fromEnv, fromAuthFile, fromModelsFile, fromLogin]) {
    try {
      const found = find(provider, sources);
      if (found) return found;
    } catch (error) {
      // A key that cannot be used is a reason to look further, not yet a failure.
      unusable = error;
    }
  }
  if (unusable) throw unusable;
  if (AMBIENT.has(provider)) return lasting(null);
  throw new RlmError("no_model_configured", `no API key for the provider ${provider}`, {
    suggestion: noKeyCure(sources.envNames.at(-1)),
  });
}

function noKeyCure(variable: string | undefined): string {
  if (variable === undefined) return `${firstly("nameKey")}, or ${remedy("login")}.`;
  return `${firstly("setKeyOf", variable)}, or ${remedy("login")}.`;
}

function fromEnv(_provider: string, { env, envNames }: KeySources): Found | undefined {
  const name = envNames.find((each) => isKey(env[each])) ?? envNames.find((each) => env[each]);
  return name === undefined ? undefined : lasting(namedKey(name, env));
}

function fromAuthFile(provider: string, { env, files }: KeySources): Found | undefined {
  const credential = files.credentials.get(provider);
  if (credential?.type !== "api_key") return undefined;
  return lasting(resolveEntry(credential.key, env, `the key of ${provider} in auth.json`));
}

function fromModelsFile(provider: string, { env, files }: KeySources): Found | undefined {
  const key = files.providers.get(provider)?.apiKey;
  return key === undefined ? undefined : lasting(resolveEntry(key, env, `the key of ${provider} in models.json`));
}

/** @throws RlmError `auth_expired` */
function fromLogin(provider: string, { files, now }: KeySources): Found | undefined {
  const login = files.credentials.get(provider);
  if (login?.type !== "oauth") return undefined;
  if (now() < login.expires) return { key: login.access, expires: login.expires };
  throw new RlmError("auth_expired", `the login for ${provider} has expired`, { suggestion: `${firstly("login")}.` });
}

/**
 * The token of a gateway in front of Anthropic: it goes as a bearer token and never as a key. A key
 * goes before it.
 */
function bearerToken(provider: string, { env, apiKeyEnv, envNames }: KeySources): string | undefined {
  if (provider !== "anthropic" || apiKeyEnv !== undefined || envNames.some((name) => isKey(env[name])))
    return undefined;
  return isKey(env.ANTHROPIC_AUTH_TOKEN) ? env.ANTHROPIC_AUTH_TOKEN : undefined;
}

function lasting<Key>(key: Key): Found<Key> {
  return { key, expires: Number.POSITIVE_INFINITY };
}

/**
 * Common providers: the variable in which their keys are looked for, and a model in the middle of
 * their list, by ability and price. pi-ai tells only the variables that are set; a test compares
 * these with it.
 */
export const PROVIDERS: Readonly<Record<string, { readonly variable: string; readonly model: string }>> = {
  anthropic: { variable: "ANTHROPIC_API_KEY", model: "claude-sonnet-5" },
  openai: { variable: "OPENAI_API_KEY", model: "gpt-6-luna" },
  google: { variable: "GEMINI_API_KEY", model: "gemini-3.8-flash" },
  openrouter: { variable: "OPENROUTER_API_KEY", model: "moonshotai/kimi-k2.6" },
  groq: { variable: "GROQ_API_KEY", model: "openai/gpt-oss-120b" },
  mistral: { variable: "MISTRAL_API_KEY", model: "devstral-medium-latest" },
  deepseek: { variable: "DEEPSEEK_API_KEY", model: "deepseek-v4-pro" },
  xai: { variable: "XAI_API_KEY", model: "grok-4.7" },
};

/**
 * The variable of the key that a model of a common provider needs; undefined for other providers.
 */
export function keyVariable(model: string): string | undefined {
  return PROVIDERS[model.slice(0, model.indexOf("/"))]?.variable;
}

/**
 * Texts that stand for a key where clients configure a server: `${NAME}`, `${env:NAME}`,
 * `{env:NAME}`, `YOUR_KEY` and their like.
 */
const PLACEHOLDER = /^(?:\$\{(?:env:|input:)?\w+\}|\{env:\w+\}|\$\{\{\s*secrets\.\w+\s*\}\}|YOUR_(?:API_)?KEY)$/;

/**
 * Why the value of a variable is not a key, as a sentence's end: it is what a key was to be put in
 * place of. null if it may be a key.
 */
function placeholderProblem(value: string): string | null {
  if (!PLACEHOLDER.test(value.trim())) return null;
  if (!/[${]/.test(value)) return `it has the text ${value.trim()}, in place of which the key belongs`;
  return `the program that started this one passed on the text ${value.trim()} instead of the variable's value`;
}

/** True if the value of a variable may be a key. */
function isKey(value: string | undefined): value is string {
  return value !== undefined && value !== "" && placeholderProblem(value) === null;
}

/**
 * The default models, `provider/id`, of the common providers for which there is a key or a login.
 */
export function defaultModels(env: Env, agentDir = agentDirOf(env)): readonly string[] {
  const logins = loginsIn(agentDir);
  const keyed = Object.entries(PROVIDERS).filter(([name, { variable }]) => isKey(env[variable]) || logins.has(name));
  return keyed.map(([name, { model }]) => `${name}/${model}`);
}

/** A broken file counts as none: the first request says what is wrong with it. */
function loginsIn(agentDir: string): Pick<ReadonlyMap<string, unknown>, "has"> {
  try {
    return readPiFiles(agentDir).credentials;
  } catch {
    return new Map();
  }
}
