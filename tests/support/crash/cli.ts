import { silenceSqliteWarning } from "../../../src/platform/sqlite-warning.ts";
import { KILL_VARIABLE, killingStores } from "../jobs/kill-step.ts";
import { CRASH_VARIABLE, crashingStores, crashPointOf } from "./point.ts";

// The command as src/cli/main.ts starts it, over a store that kills the process where one of two variables says.

const step = process.env[KILL_VARIABLE];
const crashing = step === undefined ? crashingStores(crashPointOf(process.env[CRASH_VARIABLE])) : killingStores(step);
silenceSqliteWarning();
const { prepareProcess } = await import("../../../src/cli/startup.ts");
prepareProcess(process);
const { run } = await import("../../../src/cli/run.ts");
const { processHost } = await import("../../../src/cli/commands/define.ts");
process.exitCode = await run(process.argv.slice(2), {
  async openStore(folder) {
    const store = await processHost.openStore(folder);
    return folder === null ? store : crashing(store);
  },
});
