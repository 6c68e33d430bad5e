import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { type Contestant, takeTurns, timed } from "./measure.ts";
import type { Report } from "./report.ts";
import { size } from "./size.ts";

/** About what the store keeps of a step. */
const ROW_BYTES = 8 * 1024;
const READS = size(1000, 1);
/** Too large for a dependency of a bench: the binaries of all platforms come with it. */
const PEER = "better-sqlite3";

/** What both packages have of the same kind. */
interface Connection {
  exec(sql: string): unknown;
  prepare(sql: string): { run(...values: (number | Uint8Array)[]): unknown; get(...values: number[]): unknown };
  close(): unknown;
}

/** A commit that is on disk, and reads by key: node:sqlite against better-sqlite3, if that is installed. */
export async function benchSqlite(): Promise<Report> {
  // Beside the sources: a temporary folder may be in memory, where fdatasync is free.
  const folder = mkdtempSync(fileURLToPath(new URL("../.bench-", import.meta.url)));
  const peer = await openPeer(join(folder, "peer.db"));
  const own: Connection = new DatabaseSync(join(folder, "own.db"));
  const file = openSync(join(folder, "bare"), "w");
  const bytes = Buffer.alloc(ROW_BYTES, 1);
  const bare: Contestant = {
    name: "write + fdatasync",
    once: () =>
      timed(() => {
        writeSync(file, bytes);
        fdatasyncSync(file);
      }),
  };
  const named: readonly (readonly [string, Connection])[] = [
    ["node:sqlite", own],
    ...(peer ? [[PEER, peer] as const] : []),
  ];
  try {
    const turns = { rounds: 200, warmups: 20 };
    const commits = await takeTurns([...named.map(([name, to]) => commit(name, to, bytes)), bare], turns);
    const reads = await takeTurns(
      named.map(([name, from]) => reading(name, from)),
      { rounds: 50, warmups: 10 },
    );
    return {
      title: `sqlite: rows of ${ROW_BYTES / 1024} KB in a database with a write-ahead log and synchronous = FULL`,
      cases: [
        { name: "one row, committed", measured: commits },
        { name: `${READS.toLocaleString("en-US")} rows read by key`, measured: reads },
      ],
      notes: peer ? [] : [`${PEER} is not installed: npm i --no-save ${PEER}@13.2.0 puts it beside.`],
      aims: [],
    };
  } finally {
    for (const [, connection] of named) connection.close();
    closeSync(file);
    rmSync(folder, { recursive: true, force: true });
  }
}

async function openPeer(path: string): Promise<Connection | null> {
  try {
    const { default: Database }: { default: new (path: string) => Connection } = await import(PEER);
    return new Database(path);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND") return null;
    throw error;
  }
}

function commit(name: string, connection: Connection, bytes: Uint8Array): Contestant {
  connection.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE rows (id INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT`);
  const insert = connection.prepare("INSERT INTO rows (id, body) VALUES (?, ?)");
  let id = 0;
  return { name, once: () => timed(() => insert.run(id++, bytes)) };
}

function reading(name: string, connection: Connection): Contestant {
  const select = connection.prepare("SELECT body FROM rows WHERE id = ?");
  return {
    name,
    once: () =>
      timed(() => {
        for (let n = 0; n < READS; n++) if (!select.get(n % 200)) throw new Error(`${name} lost a row`);
      }),
  };
}
