import { dirname, join } from "node:path";
import * as v from "valibot";
import { isRecord, withoutUndefined } from "../platform/json.ts";
import {
  type ConfigPlaces,
  lesserOf,
  limitsOfProject,
  projectSettings,
  readObject,
  readProjectObject,
  readUserFile,
  readVariables,
  type SettingsFiles,
  shortNames,
  userSettings,
} from "./config.ts";
import { KEYS_OF_PI, PI_DEFAULTS, PI_ROWS, type PiKeys, PiSchema } from "./pi-table.ts";
import { type AskedSettings, invalidConfig, KEYS, type Settings, unknownKey, variableOf } from "./settings.ts";

/** Settings inside Pi: limits and roots as everywhere, and keys that only Pi has. */
export type PiSettings = Readonly<
  Omit<Settings, "model" | "models" | "base_url" | "api_key_env" | "price" | "leave_out"> & PiKeys
>;

/** Places in which Pi's configuration is looked for. The project's file is `.pi/belay.json`; `userFile` is below all. */
interface PiConfigPlaces extends ConfigPlaces {
  /** Pi's folder; the user's file is `belay.json` there. */
  readonly agentDir: string;
}

/** An epoch that freed less than this part of the window would be followed by the next one at once. */
const LEAST_PART = 0.1;

/** Beside Pi's own model: each level may keep four guests of about 33 MB alive. */
const MOST_DEPTH = 3;

const OWN_KEYS: readonly string[] = PI_ROWS.map(([key]) => key);
const ALL_KEYS: readonly string[] = KEYS_OF_PI.map(({ key }) => key);

/** Pi has models and keys of its own. */
const MODELS_OF_PI: readonly string[] = ["model", "models", "base_url", "api_key_env"];

const projectFileOf = ({ cwd }: Pick<PiConfigPlaces, "cwd">) => join(cwd, ".pi", "belay.json");
const agentFileOf = ({ agentDir }: Pick<PiConfigPlaces, "agentDir">) => join(agentDir, "belay.json");

/**
 * The settings inside Pi: `BELAY_*` variables before the project's file before the one in the agent dir before
 * `~/.belay/config.json`. The project's may lower limits and choose a model (semantics 37).
 *
 * @throws RlmError `invalid_config`, naming the file and the key
 */
export function readPiConfig(places: PiConfigPlaces): PiSettings {
  const agentFile = agentFileOf(places);
  const projectFile = projectFileOf(places);
  const user = partOf(readObject(agentFile), agentFile);
  const below = readUserFile(places.userFile);
  const users = { ...below, ...userSettings(user.settings, agentFile) };
  const project = partOf(readPiProject(places), projectFile);
  checkProject(project.own, { projectFile, userFile: agentFile });
  checkParts(user.own, agentFile);
  const files = { projectFile, userFile: agentFile };
  const projects = projectSettings(project.settings, { path: projectFile, folder: places.cwd, userFile: agentFile });
  const asked = readVariables(places.env);
  const limits = limitsOfProject(users, projects, asked, files);
  checkDepth([
    { place: `${variableOf("max_depth")} is`, depth: asked.max_depth },
    { place: `${projectFile}: max_depth is`, depth: projects.max_depth },
    { place: `${agentFile}: max_depth is`, depth: user.settings.max_depth },
    { place: `${places.userFile}: max_depth is`, depth: below.max_depth, cure: ` in ${agentFile}` },
  ]);
  const settings = ofPi({ ...users, ...projects, ...limits, ...shortNames(users, projects), ...asked });
  const lesser = loweredOwn(user.own, project.own, files);
  return { ...settings, ...user.own, ...project.own, ...lesser, ...exempted(user.own, project.own) };
}

/** The settings among these that Pi has: it has models of its own, for example. */
function ofPi(settings: AskedSettings): Settings {
  const known = Object.entries(settings).filter(([key]) => ALL_KEYS.includes(key));
  return withoutUndefined(Object.fromEntries(known));
}

/** The settings of the project's file, unchecked. @throws RlmError `invalid_config` */
function readPiProject(places: Pick<PiConfigPlaces, "cwd">): Readonly<Record<string, unknown>> {
  const path = projectFileOf(places);
  return readProjectObject(path, dirname(path));
}

/** @throws RlmError `invalid_config` for a key of Pi's own that a project may not set, or not to this value */
function checkProject(own: PiKeys, { projectFile, userFile }: SettingsFiles): void {
  const cure = `Set it in ${userFile}.`;
  const given = PI_ROWS.filter(([key]) => Object.hasOwn(own, key));
  const [refused] = given.find(([, row]) => row.project === "may not set") ?? [];
  if (refused) throw invalidConfig(`${projectFile}: a project may not set ${refused}`, cure);
  const [on] = given.find(([key, row]) => row.project === "may switch off" && own[key] === true) ?? [];
  if (on) throw invalidConfig(`${projectFile}: a project may set ${on} to false only`, cure);
}

/** The files that the user and the project exempt: a project's add to the user's. */
function exempted(user: PiKeys, project: PiKeys): Pick<PiKeys, "read_cache_exclude"> {
  const names = [...(user.read_cache_exclude ?? []), ...(project.read_cache_exclude ?? [])];
  return names.length > 0 ? { read_cache_exclude: names } : {};
}

/** The lesser of the project's numbers and the user's. @throws RlmError `invalid_config` if the project raises one */
function loweredOwn(users: PiKeys, projects: PiKeys, { projectFile, userFile }: SettingsFiles): PiKeys {
  const lesser: Record<string, number> = {};
  for (const [key, { default: usual, project }] of PI_ROWS) {
    const { [key]: asked } = projects;
    const { [key]: user } = users;
    if (project !== "may lower" || typeof asked !== "number") continue;
    const most = typeof usual === "number" ? usual : null;
    lesser[key] = lesserOf(asked, typeof user === "number" ? user : undefined, most, (limit) => {
      const problem = `${projectFile}: ${key} is ${asked}; a project may lower it, and it is ${limit}`;
      return invalidConfig(problem, `Set it in ${userFile}.`);
    });
  }
  return lesser;
}

/** A model of sub-calls that only the project's file names. */
interface ProjectModel {
  readonly model: string;
  readonly file: string;
  /** The file in which the user can choose another one. */
  readonly userFile: string;
}

/** The model of sub-calls if the project's file alone names it; null: the user has chosen it. @throws RlmError `invalid_config` */
export function subModelOfProject(places: Pick<PiConfigPlaces, "cwd" | "agentDir">): ProjectModel | null {
  const file = projectFileOf(places);
  const userFile = agentFileOf(places);
  const { sub_model: model } = partOf(readPiProject(places), file).own;
  if (model === undefined || model === partOf(readObject(userFile), userFile).own.sub_model) return null;
  return { model, file, userFile };
}

/** The first of the places that names a depth counts. */
interface DepthAt {
  readonly place: string;
  readonly depth: unknown;
  /** The place to set it instead: the command may go deeper by the same file. */
  readonly cure?: string;
}

/** @throws RlmError `invalid_config` if the depth that counts is deeper than Pi allows */
function checkDepth(places: readonly DepthAt[]): void {
  const counts = places.find(({ depth }) => depth !== undefined);
  if (typeof counts?.depth !== "number" || counts.depth <= MOST_DEPTH) return;
  const { place, depth, cure = "" } = counts;
  const problem = `${place} ${depth}; in Pi it is ${MOST_DEPTH} at the most`;
  throw invalidConfig(problem, `Set it to ${MOST_DEPTH} or less${cure}.`);
}

/** @throws RlmError `invalid_config` if an epoch would begin too near to where it ends */
function checkParts(own: PiKeys, path: string): void {
  const { externalize_at: at, externalize_to: to } = { ...PI_DEFAULTS, ...own };
  // Whole hundredths are compared, since 0.4 - 0.1 is not 0.3.
  if (Math.round(to * 100) <= Math.round((at - LEAST_PART) * 100)) return;
  const problem = `${path}: externalize_to is ${to} and externalize_at ${at}; an epoch must free a tenth of the window`;
  throw invalidConfig(problem, `Set externalize_to to ${(at - LEAST_PART).toFixed(2)} at the most.`);
}

/** The keys of a file: those of Pi alone, and the others, which are not checked yet. */
interface Parts {
  readonly own: PiKeys;
  readonly settings: Readonly<Record<string, unknown>>;
}

/** @throws RlmError `invalid_config` */
function partOf(given: Readonly<Record<string, unknown>>, path: string): Parts {
  const own: Record<string, unknown> = {};
  const settings: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(given)) {
    const meant = MODELS_OF_PI.includes(key) ? "sub_model" : undefined;
    if (!ALL_KEYS.includes(key)) throw unknownKey(key, `${path}: `, ALL_KEYS, meant);
    if (OWN_KEYS.includes(key)) own[key] = value;
    else settings[key] = value;
  }
  const checked = v.safeParse(PiSchema, own);
  if (checked.success) return { own: checked.output, settings };
  const [issue] = checked.issues;
  throw invalidConfig(`${path}: ${String(issue.path?.[0].key)} ${issue.message}`, "Correct it, or take it out.");
}

/** A setting in force in Pi, as it is shown. */
interface PiOrigin {
  readonly key: string;
  readonly value: string;
  /** The path of a file, or the name of a variable; null: it is the default. */
  readonly from: string | null;
}

export interface PiOrigins {
  readonly settings: readonly PiOrigin[];
  /** The files that are read, whether they exist or not; the first goes before the others. */
  readonly files: readonly string[];
}

/** Settings in force, each with its origin. @throws RlmError `invalid_config` */
export function piOrigins(places: PiConfigPlaces): PiOrigins {
  const held = new Map<string, unknown>(Object.entries(readPiConfig(places)));
  const files = [projectFileOf(places), agentFileOf(places), places.userFile];
  const given = files.map((path) => ({ path, settings: new Map(Object.entries(readObject(path))) }));
  const settings = KEYS_OF_PI.map(({ key, usual }) => {
    const value = held.get(key);
    if (value === undefined) return { key, value: usual, from: null };
    const variable = variableOf(key);
    if (KEYS.includes(key) && places.env[variable]) return { key, value: shown(value), from: variable };
    const setting = given.filter(({ settings }) => settings.has(key));
    // The lesser of a project's limit and the user's holds.
    const from = setting.find(({ settings }) => settings.get(key) === value) ?? setting[0];
    return { key, value: shown(value), from: from?.path ?? null };
  });
  return { settings, files };
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return value.join(", ") || "none";
  return isRecord(value) ? JSON.stringify(value) : String(value);
}
