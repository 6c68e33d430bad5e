import { dirname, join } from "node:path";
import * as v from "valibot";
import { given } from "../platform/json.ts";
import { type ConfigPlaces, readVariables } from "./config.ts";
import { projectSettings, readObject, readProjectObject, readUserFile, userSettings } from "./files.ts";
import { lesserOf, lowered, type SettingsFiles } from "./lowered.ts";
import {
  INGEST_DEFAULTS,
  MODELS_OF_PI,
  OUTSIDE_DEFAULTS,
  OWN_KEYS,
  PI_KEYS,
  type PiKeys,
  PiSchema,
  READING_DEFAULTS,
} from "./pi-keys.ts";
import { invalidConfig, type Settings, unknownKey, variableOf } from "./settings.ts";

/** An epoch that freed less than this part of the window would be followed by the next one at once. */
const LEAST_PART = 0.1;

/** Beside Pi's own model: each level may keep four guests of about 33 MB alive. */
const MOST_DEPTH = 3;

/** Settings inside Pi: limits and roots as everywhere, and keys that only Pi has. */
export type PiSettings = Readonly<
  Omit<Settings, "model" | "models" | "base_url" | "api_key_env" | "price" | "leave_out"> & PiKeys
>;

/** Keys that a project may lower. */
const LOWERED_KEYS = ["confirm_calls", "max_ingest_files", "max_ingest_bytes"] as const;
const LOWERED = { ...READING_DEFAULTS, ...INGEST_DEFAULTS };
type Lowered = { readonly [key in (typeof LOWERED_KEYS)[number]]?: number };

/** Keys that a project may only switch off. */
const PROJECT_OFF = ["externalize", "read_cache"] as const;

/** A project may choose the model, switch these off, lower these, exempt files, and set nothing else of Pi's own keys. */
const OF_PROJECTS: readonly string[] = ["sub_model", "read_cache_exclude", ...PROJECT_OFF, ...LOWERED_KEYS];
const PI_USER_ONLY = OWN_KEYS.filter((key) => !OF_PROJECTS.includes(key));

/** Places in which Pi's configuration is looked for. The project's file is `.pi/belay.json`; `userFile` is below all. */
export interface PiConfigPlaces extends ConfigPlaces {
  /** Pi's folder; the user's file is `belay.json` there. */
  readonly agentDir: string;
}

export const projectFileOf = ({ cwd }: Pick<PiConfigPlaces, "cwd">) => join(cwd, ".pi", "belay.json");
export const agentFileOf = ({ agentDir }: Pick<PiConfigPlaces, "agentDir">) => join(agentDir, "belay.json");

/** The settings of the project's file, unchecked. @throws RlmError `invalid_config` */
function readPiProject(places: Pick<PiConfigPlaces, "cwd">): Readonly<Record<string, unknown>> {
  const path = projectFileOf(places);
  return readProjectObject(path, dirname(path));
}

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
  const refused = PI_USER_ONLY.find((key) => Object.hasOwn(project.own, key));
  if (refused) throw invalidConfig(`${projectFile}: a project may not set ${refused}`, `Set it in ${agentFile}.`);
  const on = PROJECT_OFF.find((key) => project.own[key] === true);
  if (on) throw invalidConfig(`${projectFile}: a project may set ${on} to false only`, `Set it in ${agentFile}.`);
  checkParts(user.own, agentFile);
  const files = { projectFile, userFile: agentFile };
  const projects = projectSettings(project.settings, { path: projectFile, folder: places.cwd, userFile: agentFile });
  const asked = readVariables(places.env);
  const limits = lowered(users, projects, asked, files);
  checkDepth([
    { place: `${variableOf("max_depth")} is`, depth: asked.max_depth },
    { place: `${projectFile}: max_depth is`, depth: projects.max_depth },
    { place: `${agentFile}: max_depth is`, depth: user.settings.max_depth },
    { place: `${places.userFile}: max_depth is`, depth: below.max_depth, cure: ` in ${agentFile}` },
  ]);
  const {
    model: _model,
    models: _models,
    base_url: _url,
    api_key_env: _key,
    ...settings
  } = { ...users, ...projects, ...limits, ...asked };
  const lesser = loweredOwn(user.own, project.own, files);
  return { ...given(settings), ...user.own, ...project.own, ...lesser, ...exempted(user.own, project.own) };
}

/** The files that the user and the project exempt: a project's add to the user's. */
function exempted(user: PiKeys, project: PiKeys): Pick<PiKeys, "read_cache_exclude"> {
  const names = [...(user.read_cache_exclude ?? []), ...(project.read_cache_exclude ?? [])];
  return names.length > 0 ? { read_cache_exclude: names } : {};
}

/** The lesser of the project's numbers and the user's. @throws RlmError `invalid_config` if the project raises one */
function loweredOwn(users: Lowered, projects: Lowered, { projectFile, userFile }: SettingsFiles): Lowered {
  const lesser: { -readonly [key in keyof Lowered]: Lowered[key] } = {};
  for (const key of LOWERED_KEYS) {
    const { [key]: asked } = projects;
    if (asked === undefined) continue;
    lesser[key] = lesserOf(asked, users[key], LOWERED[key], (most) => {
      const problem = `${projectFile}: ${key} is ${asked}; a project may lower it, and it is ${most}`;
      return invalidConfig(problem, `Set it in ${userFile}.`);
    });
  }
  return lesser;
}

/**
 * The model of sub-calls if the project's file alone names it, with that file; null: the user has chosen it.
 *
 * @throws RlmError `invalid_config`
 */
export function subModelOfProject(places: Pick<PiConfigPlaces, "cwd" | "agentDir">) {
  const file = projectFileOf(places);
  const userFile = agentFileOf(places);
  const { sub_model: model } = partOf(readPiProject(places), file).own;
  if (model === undefined || model === partOf(readObject(userFile), userFile).own.sub_model) return null;
  return { model, file, userFile };
}

/**
 * The first of the places that names a depth counts. Its cure is the place to set it instead: the command may go deeper by the
 * same file.
 *
 * @throws RlmError `invalid_config` if that is deeper than Pi allows
 */
function checkDepth(places: readonly { place: string; depth: unknown; cure?: string }[]): void {
  const counts = places.find(({ depth }) => depth !== undefined);
  if (typeof counts?.depth !== "number" || counts.depth <= MOST_DEPTH) return;
  const { place, depth, cure = "" } = counts;
  const problem = `${place} ${depth}; in Pi it is ${MOST_DEPTH} at the most`;
  throw invalidConfig(problem, `Set it to ${MOST_DEPTH} or less${cure}.`);
}

/** @throws RlmError `invalid_config` if an epoch would begin too near to where it ends */
function checkParts(own: PiKeys, path: string): void {
  const { externalize_at: at, externalize_to: to } = { ...OUTSIDE_DEFAULTS, ...own };
  // Whole hundredths are compared, since 0.4 - 0.1 is not 0.3.
  if (Math.round(to * 100) <= Math.round((at - LEAST_PART) * 100)) return;
  const problem = `${path}: externalize_to is ${to} and externalize_at ${at}; an epoch must free a tenth of the window`;
  throw invalidConfig(problem, `Set externalize_to to ${(at - LEAST_PART).toFixed(2)} at the most.`);
}

/** Pi's own keys, and the others, which are not checked yet. @throws RlmError `invalid_config` */
function partOf(given: Readonly<Record<string, unknown>>, path: string) {
  const own: Record<string, unknown> = {};
  const settings: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(given)) {
    const isOfPi = !MODELS_OF_PI.includes(key);
    if (!PI_KEYS.includes(key)) throw unknownKey(key, `${path}: `, PI_KEYS, isOfPi ? undefined : "sub_model");
    if (OWN_KEYS.includes(key)) own[key] = value;
    else settings[key] = value;
  }
  const checked = v.safeParse(PiSchema, own);
  if (checked.success) return { own: checked.output, settings };
  const [issue] = checked.issues;
  throw invalidConfig(`${path}: ${String(issue.path?.[0].key)} ${issue.message}`, "Correct it, or take it out.");
}
