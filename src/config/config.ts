import { given } from "../platform/json.ts";
import { nearest } from "../platform/nearest.ts";
import { findProjectFile, readProjectFile, readUserFile } from "./files.ts";
import { lowered } from "./lowered.ts";
import { invalidConfig } from "./problems.ts";
import { type AskedSettings, KEYS, type Settings, TAKEN_BACK, variableOf } from "./settings.ts";
import { settingsFromTexts } from "./texts.ts";

/** Places in which configuration is looked for. */
export interface ConfigPlaces {
  /** A project's file is looked for here and above, as far as the top of the repository. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `~/.belay/config.json`; need not exist. */
  readonly userFile: string;
}

/**
 * The settings in force: flags before `BELAY_*` variables before the project's file before the user's. The project's file may
 * lower limits and choose a model, no more (semantics 37); of its limits and the user's the lesser holds.
 *
 * @throws RlmError `invalid_config`, naming the file or variable and the key
 */
export function readConfig(flags: AskedSettings, { cwd, env, userFile }: ConfigPlaces): Settings {
  const user = readUserFile(userFile);
  const projectFile = findProjectFile(cwd);
  const asked = { ...readVariables(env), ...flags };
  const project = projectFile === undefined ? {} : readProjectFile(projectFile, userFile);
  return given({ ...user, ...project, ...lowered(user, project, asked, { projectFile, userFile }), ...asked });
}

/** Settings of `BELAY_*` variables. @throws RlmError `invalid_config` */
export function readVariables(env: ConfigPlaces["env"]): AskedSettings {
  const variables = KEYS.map(variableOf);
  for (const [name, text] of Object.entries(env)) {
    if (!text || !name.startsWith("BELAY_") || variables.includes(name) || OTHERS.includes(name)) continue;
    // A misspelt limit would not limit anything.
    const meant = nearest(name, variables);
    if (meant) throw invalidConfig(`unknown variable ${name}; did you mean ${meant}?`, "Rename it, or unset it.");
  }
  // An empty variable is one that is not set, unless it can say "none".
  const textOf = (key: string) => env[variableOf(key)] || (TAKEN_BACK.includes(key) ? env[variableOf(key)] : undefined);
  return settingsFromTexts(textOf, variableOf);
}

/** Variables of Belay that are not settings. */
const OTHERS = ["BELAY_HOME", "BELAY_STORE", "BELAY_DEBUG", "BELAY_SESSION", "BELAY_MCP_TOKEN"];
