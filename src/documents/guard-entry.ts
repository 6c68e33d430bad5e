import dgram from "node:dgram";
import dns from "node:dns";
import module, { syncBuiltinESMExports } from "node:module";
import net from "node:net";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import threads from "node:worker_threads";

// A child that reads documents runs this before any reader. Node's permission model refuses files
// and programs, but neither connections (before version 25) nor the files that SQLite opens. What
// opens them is taken away here.

/**
 * A parser may hold up its thread, so another one looks at its processor time and memory: heap
 * limits do not count the buffers of arrays. It ends the process, too, when the one that started it
 * is gone.
 */
const WATCH = `
const { workerData: { most, parent, full, slow, until } } = require("node:worker_threads");
const { writeSync } = require("node:fs");
setInterval(() => {
  if (process.ppid !== parent) process.kill(process.pid, "SIGKILL");
  const { user, system } = process.cpuUsage();
  const isLate = (user + system) / 1000 > until[0];
  if (!isLate && process.memoryUsage.rss() <= most) return;
  writeSync(2, isLate ? slow : full);
  process.kill(process.pid, "SIGKILL");
}, 20);`;

/** The processor time of the process at which it ends, ms. */
export const until = new Float64Array(new SharedArrayBuffer(8)).fill(Number.POSITIVE_INFINITY);
const [, , parent, most, full, slow, file] = process.argv;
const workerData = { until, parent: Number(parent), most: Number(most), full, slow };
const options = { eval: true, execArgv: [], workerData, resourceLimits: { maxOldGenerationSizeMb: 16 } };
new threads.Worker(WATCH, options).unref();

// Names imported of this module would stay as they are: Node does not bring its names up to date.
const sqlite = process.getBuiltinModule("node:sqlite");
const { DatabaseSync: Database } = sqlite;
const { prepare } = Database.prototype;
const { apply } = Reflect;

/** A database that takes queries alone. */
export type Queried = Pick<DatabaseSync, "prepare" | typeof Symbol.dispose>;

/**
 * Opens the copy that this child was started for, or without one an empty database. It takes
 * queries alone.
 */
export function openDatabase(copy?: string): Queried {
  if (copy !== undefined && copy !== file) refuse();
  const readOnly = copy !== undefined;
  return new Database(copy ?? ":memory:", { readOnly, enableForeignKeyConstraints: false });
}

/**
 * Nothing of what it uses can be replaced: a string that begins with `SELECT ` sorts behind it and
 * before `SELECT!`.
 */
function query(this: DatabaseSync, sql: string): StatementSync {
  const isQuery = (sql >= "SELECT " && sql < "SELECT!") || (sql >= "PRAGMA " && sql < "PRAGMA!");
  return typeof sql === "string" && isQuery ? apply(prepare, this, [sql]) : refuse();
}

/**
 * Functions that reach other machines, files, other processes, or a thread in which nothing is
 * taken away.
 */
const CLOSED: readonly (readonly [object, readonly string[]])[] = [
  [net, ["connect", "createConnection", "_createServerHandle"]],
  [net.Socket.prototype, ["connect"]],
  [net.Server.prototype, ["listen", "_listen2"]],
  [dgram, Object.keys(dgram)],
  [dgram.Socket.prototype, ["bind", "connect", "send"]],
  ...[dns, dns.promises].map((one) => [one, functionsOf(one)] as const),
  [sqlite, functionsOf(sqlite)],
  [Database.prototype, ["constructor", "exec", "createTagStore"]],
  [threads, ["Worker"]],
  [module, ["register"]],
  [process, ["kill", "_kill", "_debugProcess"]],
];

for (const [owner, names] of CLOSED) for (const name of names) replace(owner, name, refuse);
replace(Database.prototype, "prepare", query);
syncBuiltinESMExports();

function replace(owner: object, name: string, value: unknown): void {
  Object.defineProperty(owner, name, { value, writable: false, configurable: false });
}

function functionsOf(owner: object): string[] {
  return Object.entries(owner).flatMap(([name, value]) => (typeof value === "function" ? [name] : []));
}

function refuse(): never {
  throw Object.assign(new Error("a reader of documents has no connections and no files"), {
    code: "ERR_ACCESS_DENIED",
  });
}
