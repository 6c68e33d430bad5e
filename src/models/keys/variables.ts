import type { Env } from "../fetched.ts";
import { agentDirOf, readPiFiles } from "./pi-files.ts";

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
export function placeholderProblem(value: string): string | null {
  if (!PLACEHOLDER.test(value.trim())) return null;
  if (!/[${]/.test(value)) return `it has the text ${value.trim()}, in place of which the key belongs`;
  return `the program that started this one passed on the text ${value.trim()} instead of the variable's value`;
}

/** True if the value of a variable may be a key. */
export function isKey(value: string | undefined): value is string {
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
