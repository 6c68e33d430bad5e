import { silenceSqliteWarning } from "../sqlite-warning.ts";
import { keepCompiledModules } from "./startup.ts";

// The store's thread under the command: as in machine-thread-entry.ts, main.ts cannot prepare it.
silenceSqliteWarning();
keepCompiledModules(process.env);
await import("../store/thread-entry.ts");
