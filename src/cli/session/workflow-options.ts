import type { SessionOptions } from "../../index.ts";
import { homeFolder, userHome } from "../../platform/home.ts";
import { type WorkflowPlaces, workflowOptions } from "../../workflow/index.ts";
import type { KeptSettings } from "./recorded-settings.ts";
import { settingsFromFiles } from "./settings.ts";

/** The folders of saved workflows. @param cwd the folder whose project's count */
export function workflowPlaces(cwd: string): WorkflowPlaces {
  return { cwd, home: userHome(), belayHome: homeFolder(process.env) };
}

/** The options with which a session of the command runs workflows. Agents are those of the user's file alone. */
export function optionsOfWorkflow({ cwd, workflow }: Pick<KeptSettings, "cwd" | "workflow">): SessionOptions {
  const { agents = {} } = settingsFromFiles("agents");
  const options = workflowOptions(agents, workflowPlaces(cwd));
  return workflow?.reuse ? { ...options, reuse: workflow.reuse } : options;
}
