import { chmodSync, constants, copyFileSync, existsSync, lstatSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { RlmError } from "../../../runtime/errors.ts";
import { syncFile, syncFolder } from "../../platform/checked-file.ts";
import { DATABASE_FILE, isStoreToRead } from "../../platform/home.ts";
import { makeFolder, temporaryFolder } from "../../platform/make-folder.ts";
import { isOfFolder, madeTooEarly } from "../failure.ts";
import { connect, type Database } from "./database.ts";
import { alone, createPrivately } from "./leases.ts";
import { LOG_BYTES, openLog } from "./log.ts";
import { FIRST_VERSION, MIGRATIONS, SCHEMA_VERSION } from "./schema.ts";

/** The folder, in that of the store, in which a store keeps its locks. */
export const LOCKS_FOLDER = "locks";

/**
 * Opens the database of a store. Makes or migrates it if that is needed.
 * @throws RlmError `store_too_new` for one of a later version, `store_failed` for one of another
 * program; both are left as they are
 */
export function openDatabase(folder: string | null): Database {
  if (folder === null) {
    const connection = new DatabaseSync(":memory:");
    migrate(connection, 0);
    return connect(connection, null);
  }
  const path = join(folder, DATABASE_FILE);
  if (isStoreToRead(folder)) return openToRead(folder, path);
  makeFolder(folder);
  checkOwn(folder, path);
  makeFolder(join(folder, LOCKS_FOLDER));
  if (versionOf(path) < SCHEMA_VERSION) alone(join(folder, LOCKS_FOLDER, ".store.db"), () => bringUpToDate(path));
  // SQLite gives its -wal and -shm files the mode of the database.
  if ((statSync(path).mode & 0o777) !== 0o600) chmodSync(path, 0o600);
  return checked(openConnection(path), path);
}

function checked(connection: DatabaseSync, path: string): Database {
  checkSchema(connection, path);
  const moveRest = () => {
    if (connection.isOpen && !connection.isTransaction) connection.exec("PRAGMA wal_checkpoint(PASSIVE)");
  };
  return connect(connection, openLog(path, moveRest));
}

/**
 * Opens a store that cannot be written, such as a mounted backup: what reads it works.
 * @throws RlmError `store_failed` for one of an earlier version, which would have to be migrated
 */
function openToRead(folder: string, path: string): Database {
  checkOwn(folder, path);
  const connection = connectionToRead(path);
  if (versionIn(connection, path) === SCHEMA_VERSION) return checked(connection, path);
  connection.close();
  throw new RlmError("store_failed", `${path} is a store of an earlier version, and cannot be written`, {
    suggestion: "Copy its folder to a place that can be written, and name that one.",
  });
}

/**
 * SQLite reads a log beside a database only if it can write the index of the log, or finds one.
 * Without a log nothing changes there; one that a process has left is read in a copy.
 */
function connectionToRead(path: string): DatabaseSync {
  try {
    return openedToRead(pathToFileURL(path));
  } catch (error) {
    if (!isOfFolder(error)) throw error;
  }
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false });
  if (!log?.size) return openedToRead(new URL("?immutable=1", pathToFileURL(path)));
  using copy = temporaryFolder("belay-store-");
  const own = join(copy.path, DATABASE_FILE);
  for (const part of ["", "-wal"]) copyFileSync(path + part, own + part, constants.COPYFILE_FICLONE);
  // Its files stay for this process when their names are gone.
  return openedToRead(pathToFileURL(own));
}

function openedToRead(url: URL): DatabaseSync {
  return begunWith(new DatabaseSync(url, { readOnly: true }), "SELECT count(*) FROM sqlite_schema");
}

/** The connection once it has done this and what goes for all of them; closed if that fails. */
function begunWith(connection: DatabaseSync, statements: string): DatabaseSync {
  try {
    connection.exec(`${PRAGMAS}; ${statements}`);
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

const PRAGMAS = "PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON";

/**
 * Another user's trigger or view would run within the statements of the store, and may never end.
 * @throws RlmError `store_corrupt`
 */
function checkSchema(connection: DatabaseSync, path: string): void {
  const found = schemaOf(connection);
  const expected = ownSchema();
  const other = [...found, ...expected].find((one) => !found.has(one) || !expected.has(one));
  if (other === undefined) return;
  connection.close();
  const { name } = JSON.parse(other);
  throw new RlmError("store_corrupt", `${path}: ${name} is not what Belay makes there`, {
    suggestion: "The schema of the store was changed: put a copy from before there, or choose another folder.",
  });
}

let own: ReadonlySet<string> | undefined;

/** Entries of the schema that the migrations make, which takes as long as the rest of opening: it is made once. */
function ownSchema(): ReadonlySet<string> {
  if (own) return own;
  using made = new DatabaseSync(":memory:");
  for (const migration of MIGRATIONS) made.exec(migration);
  own = schemaOf(made);
  return own;
}

/**
 * Entries of a schema, each as JSON. Statistics and the like, which SQLite adds by itself, are left
 * out.
 */
function schemaOf(connection: DatabaseSync): ReadonlySet<string> {
  const rows = connection.prepare(SCHEMA).all();
  return new Set(rows.map((row) => JSON.stringify(row)));
}

const SCHEMA = `SELECT name, type, tbl_name, sql FROM sqlite_schema
  WHERE type NOT IN ('table', 'index') OR name NOT LIKE 'sqlite\\_%' ESCAPE '\\'`;

/**
 * Whoever can write to the folder can put another database into it.
 *
 * @throws RlmError `store_failed`, `store_corrupt`
 */
function checkOwn(folder: string, path: string): void {
  const OTHERS_WRITE = 0o002;
  if (process.platform !== "win32" && (statSync(folder).mode & OTHERS_WRITE) !== 0) {
    const suggestion = `Take that right from them (chmod o-w ${folder}), or choose another folder.`;
    throw new RlmError("store_failed", `all users can write to ${folder}, so no store is kept there`, { suggestion });
  }
  const file = lstatSync(path, { throwIfNoEntry: false });
  if (file?.isSymbolicLink()) {
    const suggestion = "Name the folder that the link leads to, or remove the link.";
    throw new RlmError("store_failed", `${path} is a link, and a store is a file of its own`, { suggestion });
  }
  if (file?.size === 0) {
    const suggestion = "Put a copy of the store there; if there is none, remove the file to begin a new store.";
    throw new RlmError("store_corrupt", `${path} is empty: what was in it is lost`, { suggestion });
  }
}

function openConnection(path: string): DatabaseSync {
  const ofFile = `PRAGMA busy_timeout = ${BUSY_MS}; PRAGMA journal_size_limit = ${MOST_LOG_BYTES}`;
  return begunWith(new DatabaseSync(path), `${ofFile}; ${WITH_LOG}`);
}

const BUSY_MS = 10_000;
/** A log that was longer is cut off to this when it begins anew. */
const MOST_LOG_BYTES = 4 * LOG_BYTES;
/**
 * A copy that SQLite has made of a database (`VACUUM INTO`) has no log. `Log` waits until a commit
 * is on disk, and empties the log before SQLite would do so within a commit. The first commit to a
 * new log has SQLite sync its header and its name in the folder.
 */
const WITH_LOG = `PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
  PRAGMA wal_autocheckpoint = ${(4 * MOST_LOG_BYTES) / 4096}`;

/**
 * Version of the database; looked up without a write, since what is not ours must stay as it is.
 */
function versionOf(path: string): number {
  if (!existsSync(path)) return 0;
  using connection = new DatabaseSync(path, { readOnly: true });
  return versionIn(connection, path);
}

/** "Bely": in the header of the file, so that no other program's database is taken for a store. */
const APPLICATION_ID = 0x42656c79;

function versionIn(connection: DatabaseSync, path: string): number {
  // One moment of the file is read: another process may be making the store.
  connection.exec(`PRAGMA busy_timeout = ${BUSY_MS}; BEGIN`);
  const header = (name: string) => Number(Object.values(connection.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
  const version = header("user_version");
  const application = header("application_id");
  const empty = connection.prepare("SELECT count(*) AS n FROM sqlite_schema").get()?.n === 0;
  connection.exec("ROLLBACK");
  if (application === 0 && version === 0 && empty) return 0;
  if (application !== APPLICATION_ID || version < 1) {
    const suggestion = "Choose another folder for the store, or move the file away.";
    throw new RlmError("store_failed", `${path} is a database of another program`, { suggestion });
  }
  if (version < FIRST_VERSION) {
    throw madeTooEarly(
      path,
      "Move the file away, and a new store is made there; or choose another folder for the store.",
    );
  }
  if (version > SCHEMA_VERSION) {
    const suggestion = "Update Belay, or choose another folder for the store.";
    const message = `${path} is a store of version ${version}; this build reads versions up to ${SCHEMA_VERSION}`;
    throw new RlmError("store_too_new", message, { suggestion });
  }
  return version;
}

function bringUpToDate(path: string): void {
  if (!existsSync(path)) {
    makeDatabase(path);
    return;
  }
  const version = versionOf(path);
  if (version < SCHEMA_VERSION) bringFrom(version, path);
}

/** The file gets its name when it is whole: a process that is killed before leaves no empty one. */
function makeDatabase(path: string): void {
  const made = `${path}.new`;
  for (const suffix of ["", "-wal", "-shm", "-journal"]) rmSync(`${made}${suffix}`, { force: true });
  createPrivately(made);
  fillDatabase(made);
  syncFile(made);
  renameSync(made, path);
  // Later commits would be lost with the name.
  syncFolder(dirname(path));
}

/** Nobody opens it before it has its name, so SQLite leaves the one sync to the caller. */
function fillDatabase(path: string): void {
  using connection = new DatabaseSync(path);
  connection.exec("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; PRAGMA auto_vacuum = INCREMENTAL");
  migrate(connection, 0);
  connection.exec("PRAGMA journal_mode = WAL");
}

function bringFrom(version: number, path: string): void {
  using connection = openConnection(path);
  migrate(connection, version);
}

/** All of it or nothing: a process that is killed meanwhile leaves the version that was there. */
function migrate(connection: DatabaseSync, from: number): void {
  const statements = MIGRATIONS.slice(from === 0 ? 0 : from - FIRST_VERSION + 1);
  const version = `PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION}`;
  connection.exec("BEGIN IMMEDIATE");
  try {
    for (const one of [...statements, version, "COMMIT"]) connection.exec(one);
  } catch (error) {
    if (connection.isTransaction) connection.exec("ROLLBACK");
    throw error;
  }
}
