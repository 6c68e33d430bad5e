import { join } from "node:path";
import type { SessionOptions } from "../../index.ts";
import { homeFolder, userHome } from "../../platform/home.ts";
import { isServer } from "../../store/store-place.ts";
import { lentSaved, type WorkflowPlaces } from "../../workflow/index.ts";
import type { KeptSettings } from "./recorded-settings.ts";
import { readSettings } from "./settings.ts";

/** The folders of saved workflows. @param cwd the folder whose project's count */
export function workflowPlaces(cwd: string): WorkflowPlaces {
  return { cwd, home: userHome(), belayHome: homeFolder(process.env) };
}

/**
 * The folder of the runs of agents. Agents are processes of this computer, so beside a server's
 * store it is the user's.
 *
 * @param place of the store
 */
export function agentsFolder(place: string): string {
  return join(isServer(place) ? homeFolder(process.env) : place, "agents");
}

/**
 * The options with which a session runs workflows. Agents are those of the user's file alone, and a
 * nested workflow is one that the user has written or trusted. A call that cannot be made before
 * a person acts suspends the run.
 *
 * @param place of the store; null: the session is in memory
 */
export function workflowOptions(
  { cwd, workflow }: Pick<KeptSettings, "cwd" | "workflow">,
  place: string | null,
): Pick<SessionOptions, "agents" | "agentsDir" | "functions" | "reuse" | "waitsForUser"> {
  const { agents = {} } = readSettings({ settings: {} });
  return {
    agents,
    functions: lentSaved(workflowPlaces(cwd)),
    waitsForUser: true,
    ...(place === null ? {} : { agentsDir: agentsFolder(place) }),
    ...(workflow?.reuse ? { reuse: workflow.reuse } : {}),
  };
}
