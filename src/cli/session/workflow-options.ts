import type { SessionOptions } from "../../index.ts";
import { homeFolder, userHome } from "../../platform/home.ts";
import { lentSaved, type WorkflowPlaces } from "../../workflow/index.ts";
import type { KeptSettings } from "./recorded-settings.ts";
import { readSettings } from "./settings.ts";

/** The folders of saved workflows. @param cwd the folder whose project's count */
export function workflowPlaces(cwd: string): WorkflowPlaces {
  return { cwd, home: userHome(), belayHome: homeFolder(process.env) };
}

/**
 * The options with which a session runs workflows. Agents are those of the user's file alone, and a
 * nested workflow is one that the user has written or trusted. A call that cannot be made before
 * a person acts suspends the run.
 */
export function workflowOptions({
  cwd,
  workflow,
}: Pick<KeptSettings, "cwd" | "workflow">): Pick<SessionOptions, "agents" | "functions" | "reuse" | "waitsForUser"> {
  const { agents = {} } = readSettings({ settings: {} });
  return {
    agents,
    functions: lentSaved(workflowPlaces(cwd)),
    waitsForUser: true,
    ...(workflow?.reuse ? { reuse: workflow.reuse } : {}),
  };
}
