// What a session consists of, for the process that measures it: an entry of its bundle beside the library as it is published.
export { openSandbox } from "../runtime/sandbox.ts";
export { openMachines } from "../runtime/threads/machines.ts";
export { newSpec, openInProcess, runsIn, work } from "../src/runs/index.ts";
export { shareStore } from "../src/store/open.ts";
