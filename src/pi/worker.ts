import { silenceSqliteWarning } from "../sqlite-warning.ts";

// The machine's thread inside Pi: what it writes on stderr would stand in the middle of the screen.
silenceSqliteWarning();
await import("../session/worker.ts");
