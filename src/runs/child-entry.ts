import { silenceSqliteWarning } from "../platform/sqlite-warning.ts";

// The process in which a worker tries a job that may end it.
silenceSqliteWarning();
const { serveWorker } = await import("./child.ts");
serveWorker();
