import { silenceSqliteWarning } from "../../src/platform/sqlite-warning.ts";
import { lowerBorder } from "./low-border.ts";

// The command as src/cli/main.ts starts it, in which a context is large from fewer files on.

silenceSqliteWarning();
lowerBorder();
const { endProcess, prepareProcess } = await import("../../src/cli/startup.ts");
prepareProcess(process);
const { run } = await import("../../src/cli/run.ts");
process.exitCode = await run(process.argv.slice(2));
endProcess(process);
