import { agentDirOf, type Env, readPiFiles } from "./pi-files.ts";
import { isKey, KEY_VARIABLES } from "./variables.ts";

/** A model in the middle of each common provider's list, by ability and price. */
export const DEFAULT_MODELS: Readonly<Record<string, string>> = {
  anthropic: "claude-sonnet-5",
  openai: "gpt-6-luna",
  google: "gemini-3.8-flash",
  openrouter: "moonshotai/kimi-k2.6",
  groq: "openai/gpt-oss-120b",
  mistral: "devstral-medium-latest",
  deepseek: "deepseek-v4-pro",
  xai: "grok-4.7",
};

/** The default models, `provider/id`, of the common providers for which there is a key or a login. */
export function defaultModels(env: Env, agentDir = agentDirOf(env)): readonly string[] {
  const logins = loginsIn(agentDir);
  const keyed = Object.entries(DEFAULT_MODELS).filter(
    ([name]) => isKey(env[KEY_VARIABLES[name] ?? ""]) || logins.has(name),
  );
  return keyed.map(([name, id]) => `${name}/${id}`);
}

/** A broken file counts as none: the first request says what is wrong with it. */
function loginsIn(agentDir: string): Pick<ReadonlyMap<string, unknown>, "has"> {
  try {
    return readPiFiles(agentDir).credentials;
  } catch {
    return new Map();
  }
}
