import { silenceSqliteWarning } from "../sqlite-warning.ts";
import { keepCompiledModules } from "./startup.ts";

// The machine's thread under the command: a thread has a `process` of its own, which main.ts cannot prepare.
silenceSqliteWarning();
keepCompiledModules(process.env);
await import("../session/thread-entry.ts");
