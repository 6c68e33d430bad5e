import { agentDirOf, type Env, readPiFiles } from "./pi-files.ts";
import { isKey, PROVIDERS } from "./variables.ts";

/** The default models, `provider/id`, of the common providers for which there is a key or a login. */
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
