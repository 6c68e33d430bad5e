import { parentPort, workerData } from "node:worker_threads";
import { silenceSqliteWarning } from "../../platform/sqlite-warning.ts";
import type { PragmaApart } from "./log.ts";

// Runs one pragma and ends. Its host has not asked for node:sqlite and need not hear of it.
silenceSqliteWarning();
const { DatabaseSync } = await import("node:sqlite");
const { database, pragma }: PragmaApart = workerData;
using connection = new DatabaseSync(database);
parentPort?.postMessage(connection.prepare(`PRAGMA ${pragma}`).all());
