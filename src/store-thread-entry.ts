import { silenceSqliteWarning } from "./platform/sqlite-warning.ts";

// The store's thread in the library and in Pi. Its host has not asked for node:sqlite and need not hear of it.
silenceSqliteWarning();
await import("./store/thread/thread-entry.ts");
