import { dirname, resolve } from "node:path";
import { type RlmError, THINKING } from "../../runtime/index.ts";
import { withHome } from "../platform/home.ts";
import { isWithin, realPath } from "../platform/real-path.ts";
import type { AskedSettings, LimitKey, Settings } from "./settings.ts";
import { checkSettings, invalidConfig, isLimit, usualLimit, variableOf } from "./settings.ts";
import { ROWS } from "./table.ts";

// What the file of a project may set: it came with the project, so it may not grant anything.

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
export function withRoots(settings: Settings, folder: string): Settings {
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
