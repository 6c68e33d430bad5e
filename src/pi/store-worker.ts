import { silenceSqliteWarning } from "../sqlite-warning.ts";

// The store's thread inside Pi: as in worker.ts.
silenceSqliteWarning();
await import("../store/worker.ts");
