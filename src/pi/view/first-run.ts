import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { homeFolder } from "../../platform/home.ts";
import { makeFolder } from "../../platform/make-folder.ts";
import { settingsAt } from "../opened/opened.ts";

/** The file beside the store that says that the notice was shown. */
export const FIRST_RUN_FILE = "pi-first-run";

/**
 * Tells once what Belay does by itself, unless the settings say that it does not. If that cannot be remembered, nothing is
 * told: it would be told at each start.
 */
export function tellFirstRun(cwd: string, tell: (text: string) => void, env: NodeJS.ProcessEnv): void {
  try {
    if (settingsAt(cwd, env).externalize === false) return;
    const folder = homeFolder(env);
    makeFolder(folder);
    writeFileSync(join(folder, FIRST_RUN_FILE), "", { flag: "wx", mode: 0o600 });
  } catch {
    // Wrong settings are told by what needs them.
    return;
  }
  tell(NOTICE);
}

const NOTICE =
  "RLM is on: when a conversation grows long, its old objects (messages and results) are sent as short stubs, and the model reads them again when it " +
  "needs them. Nothing is lost. /rlm shows the state, and /rlm off ends it on a branch.";
