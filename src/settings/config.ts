import { withoutUndefined } from "../platform/json.ts";
import { nearest } from "../platform/nearest.ts";
import { findProjectFile, readProjectObject, readUserFile } from "./files.ts";
import { limitsOfProject, projectSettings } from "./project.ts";
import type { AskedSettings, Settings } from "./settings.ts";
import { checkSettings, invalidConfig, KEYS, variableOf } from "./settings.ts";
import { ROWS } from "./table.ts";

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
  const project =
    projectFile === undefined ? {} : projectSettings(readProjectObject(projectFile), { path: projectFile, userFile });
  const limits = limitsOfProject(user, project, asked, { projectFile, userFile });
  return withoutUndefined({ ...user, ...project, ...limits, ...asked });
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
  const textOf = (key: string) =>
    env[variableOf(key)] || (CAN_BE_NONE.includes(key) ? env[variableOf(key)] : undefined);
  return settingsFromTexts(textOf, variableOf);
}

/** Keys that an empty flag or variable takes back if a file sets them. */
const CAN_BE_NONE: readonly string[] = ROWS.filter(([, row]) => row.canBeNone).map(([key]) => key);

/** Variables of Belay that are not settings. */
const OTHERS = ["BELAY_HOME", "BELAY_STORE", "BELAY_DEBUG", "BELAY_SESSION", "BELAY_MCP_TOKEN"];

/**
 * Settings from texts, as variables and flags have them; `undefined` takes back what a file sets.
 *
 * @param textOf the text for a key, or undefined if it is not given
 * @param spelling of a key in that place, for messages
 * @throws RlmError `invalid_config`
 */
export function settingsFromTexts(
  textOf: (key: string) => string | undefined,
  spelling: (key: string) => string,
): AskedSettings {
  const values: Record<string, unknown> = {};
  const takenBack: Record<string, undefined> = {};
  for (const [key, { canBeNone, fromText }] of ROWS) {
    const text = textOf(key);
    if (text === "" && canBeNone) takenBack[key] = undefined;
    else if (text !== undefined) values[key] = fromText ? fromText(text) : text;
  }
  return { ...checkSettings(values, "", spelling), ...takenBack };
}
