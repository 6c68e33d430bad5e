import { silenceSqliteWarning } from "./sqlite-warning.ts";

// The machine's thread under the command: a thread has a `process` of its own, so main.ts cannot silence it.
silenceSqliteWarning();
await import("../session/worker.ts");
