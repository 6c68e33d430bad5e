import { existsSync, lstatSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type RlmError, THINKING } from "../../runtime/index.ts";
import { type BoundedFile, readBoundedFile } from "../platform/bounded-reads.ts";
import { messageOf } from "../platform/errors.ts";
import { withHome } from "../platform/home.ts";
import { isRecord, withoutUndefined } from "../platform/json.ts";
import { nearest } from "../platform/nearest.ts";
import { isWithin, realPath } from "../platform/paths.ts";
import {
  type AskedSettings,
  checkSettings,
  invalidConfig,
  isLimit,
  KEYS,
  type LimitKey,
  type Settings,
  usualLimit,
  variableOf,
} from "./settings.ts";
import { type Key, ROWS } from "./table.ts";

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
  return withoutUndefined({ ...user, ...project, ...limits, ...shortNames(user, project), ...asked });
}

/** The short names of models: a project's are added to the user's. */
export function shortNames(user: Settings, project: Settings): Pick<Settings, "agent_models"> {
  if (!project.agent_models) return {};
  return { agent_models: { ...user.agent_models, ...project.agent_models } };
}

/** Settings of `BELAY_*` variables. @throws RlmError `invalid_config` */
export function readVariables(env: ConfigPlaces["env"]): AskedSettings {
  for (const [name, text] of Object.entries(env)) {
    if (!text || !name.startsWith("BELAY_") || LEFT_ALONE.includes(name)) continue;
    // A misspelt limit would not limit anything.
    const meant = nearest(name, VARIABLES);
    if (meant) throw invalidConfig(`unknown variable ${name}; did you mean ${meant}?`, "Rename it, or unset it.");
  }
  // An empty variable is one that is not set, unless it can say "none".
  const textOf = (key: string) =>
    env[variableOf(key)] || (CAN_BE_NONE.includes(key) ? env[variableOf(key)] : undefined);
  return settingsFromTexts(textOf, variableOf);
}

/**
 * Refuses the variables of settings that are set by files alone. Whoever uses such a setting calls
 * this: other commands leave the variable to whom it belongs.
 *
 * @throws RlmError `invalid_config`
 */
export function refuseVariables(keys: readonly Key[], env: ConfigPlaces["env"]): void {
  const key = keys.find((one) => env[variableOf(one)]);
  if (key === undefined) return;
  const problem = `${variableOf(key)} is set, and ${key} is read from files alone`;
  throw invalidConfig(problem, `Set ${key} in ~/.belay/config.json, and unset the variable.`);
}

/** Keys that an empty flag or variable takes back if a file sets them. */
const CAN_BE_NONE: readonly string[] = ROWS.filter(([, row]) => row.canBeNone).map(([key]) => key);

/** Variables of settings. */
const VARIABLES = ROWS.filter(([, row]) => !row.onlyInFiles).map(([key]) => variableOf(key));
/** Variables of Belay that are not settings. */
const OTHERS = ["BELAY_HOME", "BELAY_STORE", "BELAY_DEBUG", "BELAY_SESSION", "BELAY_MCP_TOKEN"];
/** Variables that are not misspelt. */
const LEFT_ALONE = [...KEYS.map(variableOf), ...OTHERS];

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
  for (const [key, { canBeNone, fromText, onlyInFiles }] of ROWS) {
    const text = onlyInFiles ? undefined : textOf(key);
    if (text === "" && canBeNone) takenBack[key] = undefined;
    else if (text !== undefined) values[key] = fromText ? fromText(text) : text;
  }
  return { ...checkSettings(values, "", spelling), ...takenBack };
}

const PROJECT_FILE = "belay.config.json";
const MAX_BYTES = 64 * 1024;

/**
 * The project's file: the nearest from `cwd` upward as far as the top of its repository (the folder with `.git`).
 * Outside a repository only `cwd` counts: a parent folder, such as /tmp, may be anybody's.
 */
export function findProjectFile(cwd: string): string | undefined {
  const found: string[] = [];
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    const path = join(folder, PROJECT_FILE);
    if (lstatSync(path, { throwIfNoEntry: false })) found.push(path);
    if (existsSync(join(folder, ".git"))) return found[0];
    if (dirname(folder) === folder) break;
  }
  const own = join(resolve(cwd), PROJECT_FILE);
  return found[0] === own ? own : undefined;
}

/** Settings of a file that the user wrote; none if there is no file. @throws RlmError `invalid_config` */
export function readUserFile(path: string): Settings {
  return userSettings(readObject(path), path);
}

/** The settings of a user's file. @throws RlmError `invalid_config` */
export function userSettings(given: Readonly<Record<string, unknown>>, path: string): Settings {
  return withRoots(checkSettings(given, `${path}: `), dirname(path));
}

/** The object in a JSON file of the user, empty if there is no file. @throws RlmError `invalid_config` */
export function readObject(path: string): Readonly<Record<string, unknown>> {
  const read = readBoundedFile(path, { maxBytes: MAX_BYTES, followsLink: true });
  return read === undefined ? {} : objectIn(read, path);
}

/**
 * The object in a JSON file that came with a project, empty if there is no file. A link could lead to a file that is the
 * user's alone.
 *
 * @param folder of the project's own that the file is in, which may be no link either
 * @throws RlmError `invalid_config`
 */
export function readProjectObject(path: string, folder?: string): Readonly<Record<string, unknown>> {
  const read = readBoundedFile(path, { maxBytes: MAX_BYTES, followsLink: false });
  if (read === undefined) return {};
  const link = folder !== undefined && isLink(folder) ? folder : isLink(path) ? path : undefined;
  if (link === undefined) return objectIn(read, path);
  const problem = `${link} is a symlink, and a project's file is read through none`;
  throw invalidConfig(problem, "Put the file itself there, or remove the link.");
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
}

function objectIn(read: BoundedFile, path: string): Readonly<Record<string, unknown>> {
  if ("problem" in read)
    throw invalidConfig(`${path} ${read.problem}`, "Make it a file that you can read, or remove it.");
  const { text } = read;
  const value = parsed(text.replace(/^\ufeff/, ""), path);
  if (isRecord(value)) return value;
  throw invalidConfig(`${path} does not hold a JSON object`, `Write { "model": "PROVIDER/ID" }, for example.`);
}

function parsed(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    // The message may quote the file, and a key may stand there.
    const place = /\(line \d+ column \d+\)/.exec(messageOf(cause))?.[0];
    const cure = "Write names and texts in double quotes, without comments and without a comma after the last entry.";
    throw invalidConfig(`${path} is not valid JSON${place ? ` ${place}` : ""}`, cure);
  }
}

// Settings that the file of a project may have. It came with the project, so it may not grant anything.

/** Keys that decide who gets texts and keys, what calls cost, or which programs run: a project never sets them. */
export const USER_ONLY: readonly string[] = ROWS.filter(([, row]) => row.project === "may not set").map(([key]) => key);

/** The files of a project, if it has one, and of the user. */
export interface SettingsFiles {
  readonly projectFile: string | undefined;
  readonly userFile: string;
}

/**
 * The settings of a project's file, without regard to limits.
 *
 * @param place `folder`: the project's, by default that of the file
 * @throws RlmError `invalid_config`
 */
export function projectSettings(
  given: Readonly<Record<string, unknown>>,
  place: { readonly path: string; readonly folder?: string; readonly userFile: string },
): Settings {
  const { path, folder = dirname(path), userFile } = place;
  const refused = USER_ONLY.find((key) => Object.hasOwn(given, key));
  if (refused) throw refusedToProject(`${path}: a project may not set ${refused}`, refused, userFile);
  const settings = withRoots(checkSettings(given, `${path}: `), folder);
  const outside = settings.roots?.find((root) => !isWithin(realPath(folder), realPath(root)));
  if (outside === undefined) return settings;
  throw refusedToProject(`${path}: the root ${outside} lies outside the project`, "roots", userFile);
}

/** Roots of a file are relative to its folder, or to the home folder if they begin with `~/`. */
function withRoots(settings: Settings, folder: string): Settings {
  if (!settings.roots) return settings;
  return { ...settings, roots: settings.roots.map((root) => resolve(folder, withHome(root))) };
}

/**
 * The limits that a project sets: the lesser of its own and the user's. Limits that flags or variables set are left
 * out.
 *
 * @throws RlmError `invalid_config` for a limit that the project raises
 */
export function limitsOfProject(
  user: Settings,
  project: Settings,
  asked: AskedSettings,
  { projectFile, userFile }: SettingsFiles,
): Settings {
  const { thinking: usual = "off" } = user;
  if (project.thinking && !asked.thinking && THINKING.indexOf(project.thinking) > THINKING.indexOf(usual)) {
    const problem = `${projectFile}: thinking is ${project.thinking}; a project may lower it, and it is ${usual}`;
    throw refusedToProject(problem, "thinking", userFile);
  }
  const limits: { -readonly [key in LimitKey]?: number } = {};
  for (const key of Object.keys(project)) {
    const value = isLimit(key) ? project[key] : undefined;
    if (!isLimit(key) || value === undefined || Object.hasOwn(asked, key)) continue;
    limits[key] = lesserOf(value, user[key], usualLimit(key), (most) => {
      const problem = `${projectFile}: ${key} is ${value}; a project may lower a limit, and this one is ${most}`;
      return refusedToProject(problem, key, userFile);
    });
  }
  return limits;
}

/**
 * The lesser of a project's number and the user's.
 *
 * @throws the refusal if the project's is above the user's and the usual one
 */
export function lesserOf(
  asked: number,
  user: number | undefined,
  usual: number | null | undefined,
  refusal: (most: number) => RlmError,
): number {
  // A user who allows less than usual must not make a project's file an error.
  const most = Math.max(usual ?? Number.POSITIVE_INFINITY, user ?? 0);
  if (asked > most) throw refusal(most);
  return Math.min(asked, user ?? Number.POSITIVE_INFINITY);
}

/** A project's file sets what it may not. */
function refusedToProject(problem: string, key: string, userFile: string): RlmError {
  const isOnlyInFiles = ROWS.some(([name, row]) => name === key && row.onlyInFiles);
  const elsewhere = isOnlyInFiles ? "" : `, as ${variableOf(key)}, or with a flag`;
  return invalidConfig(problem, `Set it in ${userFile}${elsewhere}.`);
}
