import { silenceSqliteWarning } from "./platform/sqlite-warning.ts";

// The store's thread in the library and in Pi, as in machine-thread-entry.ts.
silenceSqliteWarning();
await import("./store/thread/thread-entry.ts");
