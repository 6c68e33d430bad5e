import { silenceSqliteWarning } from "./sqlite-warning.ts";

// The store's thread in the library and in Pi, as in worker.ts.
silenceSqliteWarning();
await import("./store/worker.ts");
