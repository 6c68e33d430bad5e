import { THINKING } from "../../runtime/index.ts";
import { refusedToProject } from "./problems.ts";
import { type AskedSettings, isLimit, LIMIT_DEFAULTS, type LimitKey, type Settings } from "./settings.ts";

/**
 * The limits that a project sets: the lesser of its own and the user's. Limits that flags or variables set are left
 * out.
 *
 * @throws RlmError `invalid_config` for a limit that the project raises
 */
export function lowered(
  user: Settings,
  project: Settings,
  asked: AskedSettings,
  { projectFile, userFile }: { readonly projectFile: string | undefined; readonly userFile: string },
): Settings {
  const limits: { -readonly [key in LimitKey]?: number } = {};
  const { thinking: usual = "off" } = user;
  if (project.thinking && !asked.thinking && THINKING.indexOf(project.thinking) > THINKING.indexOf(usual)) {
    const problem = `${projectFile}: thinking is ${project.thinking}; a project may lower it, and it is ${usual}`;
    throw refusedToProject(problem, "thinking", userFile);
  }
  for (const key of Object.keys(project)) {
    const value = isLimit(key) ? project[key] : undefined;
    if (!isLimit(key) || value === undefined || Object.hasOwn(asked, key)) continue;
    const most = atMost(key, user);
    if (value > most) {
      const problem = `${projectFile}: ${key} is ${value}; a project may lower a limit, and this one is ${most}`;
      throw refusedToProject(problem, key, userFile);
    }
    limits[key] = Math.min(value, user[key] ?? Number.POSITIVE_INFINITY);
  }
  return limits;
}

/** A user who allows less than usual must not make a project's file an error. */
function atMost(key: LimitKey, user: Settings): number {
  const usual = LIMIT_DEFAULTS[key] ?? Number.POSITIVE_INFINITY;
  return Math.max(usual, user[key] ?? 0);
}
