import { delimiter } from "node:path";
import { given, parseJson } from "../platform/json.ts";
import { nearest } from "../platform/nearest.ts";
import { findProjectFile, projectSettings, readProjectObject, readUserFile } from "./files.ts";
import { lowered } from "./lowered.ts";
import type { AskedSettings, Settings } from "./settings.ts";
import { checkSettings, invalidConfig, isLimit, KEYS, TAKEN_BACK, variableOf } from "./settings.ts";

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
  for (const key of KEYS) {
    const text = textOf(key);
    if (text === "" && TAKEN_BACK.includes(key)) takenBack[key] = undefined;
    else if (text !== undefined) values[key] = fromText(key, text);
  }
  return { ...checkSettings(values, "", spelling), ...takenBack };
}

/** Keys beside limits whose values are numbers. */
const NUMBERS = ["temperature", "top_p", "seed"];

/** A value as a text has it; the schema judges it. Several texts of `stop` are a JSON list. */
function fromText(key: string, text: string): unknown {
  if (isLimit(key) || NUMBERS.includes(key)) return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (key === "stop" && text.startsWith("[")) return parseJson(text) ?? text;
  return key === "roots" ? text.split(delimiter) : text;
}
