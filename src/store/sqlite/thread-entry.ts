import { parentPort, workerData } from "node:worker_threads";
import { channelOfPort, serveCaller } from "../../../runtime/index.ts";
import { silenceSqliteWarning } from "../../platform/sqlite-warning.ts";
import type { Row } from "../rows/row.ts";

// Runs pragmas on a database. Its host has not asked for node:sqlite and need not hear of it.
silenceSqliteWarning();
const { DatabaseSync } = await import("node:sqlite");
const database: string = workerData;
serveCaller<string, readonly Row[]>(channelOfPort(parentPort), {
  answer(pragma) {
    using connection = new DatabaseSync(database);
    return connection.prepare(`PRAGMA ${pragma}`).all();
  },
});
