import { join } from "node:path";
import * as v from "valibot";
import { RlmError, remedy } from "../../../runtime/index.ts";
import { readBoundedFile } from "../../platform/bounded-reads.ts";
import { userHome, withHome } from "../../platform/home.ts";
import { isRecord, parseJson } from "../../platform/json.ts";
import { type Env, type FetchedList, readFetched, storeFile } from "../fetched.ts";

const CredentialSchema = v.variant("type", [
  v.object({ type: v.literal("api_key"), key: v.string() }),
  v.looseObject({
    type: v.literal("oauth"),
    access: v.string(),
    refresh: v.fallback(v.string(), ""),
    /** Milliseconds since 1970. */
    expires: v.number(),
  }),
]);

/** A login or key that Pi keeps in auth.json. */
type PiCredential = Readonly<v.InferOutput<typeof CredentialSchema>>;

/** A field that counts as missing if its value is malformed. */
const lenient = <Schema extends v.GenericSchema>(schema: Schema) => v.fallback(v.optional(schema), undefined);

const fields = v.custom<Readonly<Record<string, unknown>>>(isRecord);
const texts = v.pipe(fields, v.record(v.string(), v.string()), v.readonly());
const levels = v.pipe(fields, v.record(v.string(), v.nullable(v.string())), v.readonly());
const amount = lenient(v.pipe(v.number(), v.minValue(0)));

const MODEL_FIELDS = {
  api: lenient(v.string()),
  baseUrl: lenient(v.string()),
  reasoning: lenient(v.boolean()),
  contextWindow: amount,
  maxTokens: amount,
  cost: lenient(v.pipe(fields, v.object({ input: amount, output: amount, cacheRead: amount, cacheWrite: amount }))),
  compat: lenient(fields),
  thinkingLevelMap: lenient(levels),
  samplingParams: lenient(fields),
};
const OverrideSchema = v.object({ ...MODEL_FIELDS, headers: lenient(texts) });
const ModelSchema = v.object({ ...MODEL_FIELDS, id: v.string(), headers: v.nullish(texts) });

/** Fields of a model in models.json. */
export type PiModelFields = Omit<Readonly<v.InferOutput<typeof ModelSchema>>, "id">;
export type PiModelEntry = Readonly<v.InferOutput<typeof ModelSchema>>;

const ProviderSchema = v.object({
  baseUrl: lenient(v.string()),
  api: lenient(v.string()),
  /** A variable's name, a key, or `!command`. */
  apiKey: lenient(v.string()),
  authHeader: v.fallback(v.boolean(), false),
  headers: v.optional(texts, {}),
  compat: lenient(fields),
  models: v.optional(v.array(ModelSchema), []),
  modelOverrides: v.optional(
    v.pipe(
      fields,
      v.transform((overrides) => Object.entries(overrides).filter(([, each]) => isRecord(each))),
      v.array(v.tuple([v.string(), OverrideSchema])),
      v.transform((entries) => Object.fromEntries(entries)),
    ),
    {},
  ),
});

/** Fields of a provider in models.json. */
export type PiProvider = Readonly<v.InferOutput<typeof ProviderSchema>>;

/** The user's Pi, as far as models need it. */
export interface PiFiles {
  readonly credentials: ReadonlyMap<string, PiCredential>;
  readonly providers: ReadonlyMap<string, PiProvider>;
  /** Lists that were fetched later than pi-ai was built. */
  readonly fetched: ReadonlyMap<string, FetchedList>;
}

/** Pi's folder: `PI_CODING_AGENT_DIR`, else `~/.pi/agent`. */
export function agentDirOf(env: Env): string {
  const home = env.HOME ?? userHome();
  const named = env.PI_CODING_AGENT_DIR;
  return named ? withHome(named, home) : join(home, ".pi", "agent");
}

/**
 * Reads auth.json and models.json of Pi's folder; a file that is not there counts as empty. Never
 * writes, and takes no lock: Pi writes each in one call.
 *
 * @throws RlmError `invalid_config` for files that are not what Pi writes: to skip models.json
 * could send a prompt past the proxy that it names. Logins of a type that is not known are passed
 * over
 */
export function readPiFiles(agentDir: string, env: Env = process.env): PiFiles {
  const credentials = new Map<string, PiCredential>();
  for (const [name, value] of Object.entries(readJsonFile(join(agentDir, "auth.json")) ?? {})) {
    const read = v.safeParse(CredentialSchema, value);
    if (read.success) credentials.set(name, read.output);
  }
  const file = join(agentDir, "models.json");
  const listed = readJsonFile(file) ?? { providers: {} };
  if (!isRecord(listed.providers)) throw invalidFile(file, "providers is missing");
  const providers = new Map<string, PiProvider>();
  for (const [name, value] of Object.entries(listed.providers)) {
    const read = v.safeParse(ProviderSchema, value);
    if (!read.success) throw invalidFile(file, `the provider ${name} has fields of wrong types`);
    providers.set(name, read.output);
  }
  return { credentials, providers, fetched: readFetched(storeFile(env), join(agentDir, "models-store.json")) };
}

/**
 * The value that an entry of Pi's files means: that of the variable of this name, else the text
 * itself.
 *
 * @param what names the entry in the message
 * @throws RlmError `no_model_configured` for `!command`: Belay runs no commands of configuration
 * files
 */
export function resolveEntry(entry: string, env: Env, what: string): string {
  if (!entry.startsWith("!")) return env[entry] || entry;
  throw new RlmError("no_model_configured", `${what} is a command, and Belay runs no commands of Pi's files`, {
    suggestion: `Put the key into an environment variable, and ${remedy("nameKey")}.`,
  });
}

/**
 * A JSON object from a file, with the line comments and trailing commas that Pi allows; undefined
 * if the file is not there or empty.
 *
 * @throws RlmError `invalid_config` for anything else. Its message never quotes the file, which may
 * hold keys
 */
export function readJsonFile(file: string): { readonly [key: string]: unknown } | undefined {
  const read = readBoundedFile(file, { maxBytes: MAX_BYTES, followsLink: true });
  if (read === undefined) return undefined;
  if ("problem" in read) throw new RlmError("invalid_config", `${file} ${read.problem}`, CURE);
  if (read.text.trim() === "") return undefined;
  const json = parseJson(withoutComments(read.text));
  if (isRecord(json)) return json;
  throw invalidFile(file, json === undefined ? "it is not valid JSON" : "it does not hold a JSON object");
}

function invalidFile(file: string, problem: string): RlmError {
  return new RlmError("invalid_config", `${file}: ${problem}`, CURE);
}

const CURE = { suggestion: "Correct or remove the file." };
const MAX_BYTES = 1024 * 1024;

function withoutComments(text: string): string {
  const outsideTexts = (match: string, other: string) => (match.startsWith('"') ? match : other);
  return text
    .replace(/"(?:\\.|[^"\\])*"?|\/\/[^\n]*/g, (match) => outsideTexts(match, ""))
    .replace(/"(?:\\.|[^"\\])*"?|,(\s*[}\]])/g, (match, end: string) => outsideTexts(match, end));
}
