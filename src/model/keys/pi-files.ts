import { homedir } from "node:os";
import { join } from "node:path";
import { RlmError, remedy } from "../../../runtime/index.ts";
import { isRecord } from "../records.ts";
import { invalidFile, readJsonFile } from "./pi-json.ts";

/** Environment variables by name. */
export type Env = Readonly<Record<string, string | undefined>>;

/** A login or key that Pi keeps in auth.json. */
export type PiCredential =
  | { readonly type: "api_key"; readonly key: string }
  | {
      readonly type: "oauth";
      readonly access: string;
      readonly refresh: string;
      /** Milliseconds since 1970. */
      readonly expires: number;
      readonly [field: string]: unknown;
    };

/** What models.json says of a provider; fields of `models` and `modelOverrides` as they stand there. */
export interface PiProvider {
  readonly baseUrl?: string;
  readonly api?: string;
  /** A variable's name, a key, or `!command`. */
  readonly apiKey?: string;
  readonly authHeader: boolean;
  readonly headers: Readonly<Record<string, string>>;
  readonly compat?: Readonly<Record<string, unknown>>;
  readonly models: readonly PiModelEntry[];
  readonly modelOverrides: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

export interface PiModelEntry {
  readonly id: string;
  readonly [field: string]: unknown;
}

/** The user's Pi, as far as models need it. */
export interface PiFiles {
  readonly credentials: ReadonlyMap<string, PiCredential>;
  readonly providers: ReadonlyMap<string, PiProvider>;
}

/** Pi's folder: `PI_CODING_AGENT_DIR`, else `~/.pi/agent`. */
export function agentDirOf(env: Env): string {
  const home = env.HOME ?? homedir();
  const named = env.PI_CODING_AGENT_DIR;
  if (!named) return join(home, ".pi", "agent");
  return /^~(?=\/|$)/.test(named) ? join(home, named.slice(1)) : named;
}

/**
 * Reads auth.json and models.json of Pi's folder; a file that is not there counts as empty. Never writes, and takes no
 * lock: Pi writes each in one call.
 *
 * @throws RlmError `invalid_config` for files that are not what Pi writes: to skip models.json could send a prompt past
 * the proxy that it names. Logins of a type that is not known are passed over
 */
export function readPiFiles(agentDir: string): PiFiles {
  const credentials = new Map<string, PiCredential>();
  for (const [name, value] of Object.entries(readJsonFile(join(agentDir, "auth.json")) ?? {})) {
    const credential = readCredential(value);
    if (credential) credentials.set(name, credential);
  }
  const file = join(agentDir, "models.json");
  const listed = readJsonFile(file) ?? { providers: {} };
  if (!isRecord(listed.providers)) throw invalidFile(file, "providers is missing");
  const providers = new Map<string, PiProvider>();
  for (const [name, value] of Object.entries(listed.providers)) {
    const provider = readProvider(value);
    if (!provider) throw invalidFile(file, `the provider ${name} has fields of wrong types`);
    providers.set(name, provider);
  }
  return { credentials, providers };
}

/**
 * The value that an entry of Pi's files stands for: the variable of that name, else the text itself.
 *
 * @param what names the entry in the message
 * @throws RlmError `no_model_configured` for `!command`: Belay runs no commands of configuration files
 */
export function resolveEntry(entry: string, env: Env, what: string): string {
  if (!entry.startsWith("!")) return env[entry] || entry;
  throw new RlmError("no_model_configured", `${what} is a command, and Belay runs no commands of Pi's files`, {
    suggestion: `Put the key into an environment variable, and ${remedy("nameKey")}.`,
  });
}

function readCredential(value: unknown): PiCredential | undefined {
  if (!isRecord(value)) return undefined;
  const { type, key, access, refresh, expires } = value;
  if (type === "api_key" && typeof key === "string") return { type, key };
  if (type !== "oauth" || typeof access !== "string" || typeof expires !== "number") return undefined;
  return { ...value, type, access, expires, refresh: typeof refresh === "string" ? refresh : "" };
}

function readProvider(value: unknown): PiProvider | undefined {
  if (!isRecord(value)) return undefined;
  const { models = [], modelOverrides = {}, headers = {}, compat } = value;
  if (!Array.isArray(models) || !models.every(isModelEntry)) return undefined;
  if (!isRecord(modelOverrides) || !isTexts(headers)) return undefined;
  const overrides = Object.entries(modelOverrides).filter((entry) => isOverride(entry));
  return {
    ...textsOf(value, ["baseUrl", "api", "apiKey"]),
    ...(isRecord(compat) ? { compat } : {}),
    authHeader: value.authHeader === true,
    headers,
    models,
    modelOverrides: Object.fromEntries(overrides),
  };
}

/** The fields of these names that are texts. */
function textsOf<Name extends string>(
  record: Readonly<Record<string, unknown>>,
  names: readonly Name[],
): { [name in Name]?: string } {
  const texts: { [name in Name]?: string } = {};
  for (const name of names) {
    const value = record[name];
    if (typeof value === "string") texts[name] = value;
  }
  return texts;
}

/** Headers as models.json has them. */
export function isTexts(value: unknown): value is Readonly<Record<string, string>> {
  return isRecord(value) && Object.values(value).every((text) => typeof text === "string");
}

function isModelEntry(value: unknown): value is PiModelEntry {
  return isRecord(value) && typeof value.id === "string" && isTexts(value.headers ?? {});
}

function isOverride(entry: [string, unknown]): entry is [string, Readonly<Record<string, unknown>>] {
  return isRecord(entry[1]);
}
