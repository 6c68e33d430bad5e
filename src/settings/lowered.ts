import { type RlmError, THINKING } from "../../runtime/index.ts";
import type { AskedSettings, LimitKey, Settings } from "./settings.ts";
import { isLimit, LIMIT_DEFAULTS, refusedToProject } from "./settings.ts";

/** The files of a project, if it has one, and of the user. */
export interface SettingsFiles {
  readonly projectFile: string | undefined;
  readonly userFile: string;
}

/**
 * The limits that a project sets: the lesser of its own and the user's. Limits that flags or variables set are left
 * out.
 *
 * @throws RlmError `invalid_config` for a limit that the project raises
 */
export function lowered(user: Settings, project: Settings, asked: AskedSettings, files: SettingsFiles): Settings {
  const { projectFile, userFile } = files;
  const limits: { -readonly [key in LimitKey]?: number } = {};
  const { thinking: usual = "off" } = user;
  if (project.thinking && !asked.thinking && THINKING.indexOf(project.thinking) > THINKING.indexOf(usual)) {
    const problem = `${projectFile}: thinking is ${project.thinking}; a project may lower it, and it is ${usual}`;
    throw refusedToProject(problem, "thinking", userFile);
  }
  for (const key of Object.keys(project)) {
    const value = isLimit(key) ? project[key] : undefined;
    if (!isLimit(key) || value === undefined || Object.hasOwn(asked, key)) continue;
    limits[key] = lesserOf(value, user[key], LIMIT_DEFAULTS[key], (most) => {
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
  usual: number | null,
  refusal: (most: number) => RlmError,
): number {
  // A user who allows less than usual must not make a project's file an error.
  const most = Math.max(usual ?? Number.POSITIVE_INFINITY, user ?? 0);
  if (asked > most) throw refusal(most);
  return Math.min(asked, user ?? Number.POSITIVE_INFINITY);
}
