import { cell, damaged, type Growing, Unreadable } from "./growing.ts";
import { openDatabase, type Queried } from "./guard-entry.ts";

/**
 * Reads the tables of an SQLite database: of its copy, or in an archive of its bytes. Views and
 * triggers are not run.
 *
 * @throws Unreadable
 */
export function readSqlite(from: string | Buffer, text: Growing): void {
  inDatabase(from, (database) => {
    for (const { name, type } of tablesIn(database)) {
      if (type === "virtual") text.lose("virtual table", name);
      else
        passTable(
          database,
          name,
          textPass(text, name, (value) => shown(value, name, text)),
        );
    }
  });
}

/** Does something with a database that is open for queries alone. @throws Unreadable */
export function inDatabase<T>(from: string | Buffer, use: (database: Queried) => T): T {
  try {
    using database = openDatabase(typeof from === "string" ? from : undefined);
    if (typeof from !== "string") deserialize(database, from);
    for (const safe of ["trusted_schema=OFF", "cell_size_check=ON", "query_only=ON"]) {
      database.prepare(`PRAGMA ${safe}`).run();
    }
    return use(database);
  } catch (error) {
    throw error instanceof Unreadable
      ? error
      : damaged(`SQLite says: ${error instanceof Error ? error.message : error}`);
  }
}

/** Bytes that tell of a write-ahead log, which memory has not. */
const WRITES = 18;
const READS = 19;

function deserialize(database: Queried, bytes: Buffer): void {
  // Node has it since 24.16.
  if (!("deserialize" in database && typeof database.deserialize === "function"))
    throw new Unreadable("left_out", "a database in an archive");
  const content = new Uint8Array(bytes);
  content[WRITES] = content[READS] = 1;
  database.deserialize(content);
}

/**
 * The tables by their names, without views and the tables in which virtual ones keep their content.
 */
export function tablesIn(database: Queried): { readonly name: string; readonly type: string }[] {
  const listed = database.prepare("PRAGMA main.table_list").all();
  const tables = listed.map(({ name, type }) => ({ name: String(name), type: String(type) }));
  return tables
    .filter(({ name, type }) => (type === "table" || type === "virtual") && !/^sqlite_/i.test(name))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Takes the columns of a table, then its rows. */
export interface TablePass {
  columns(names: readonly string[]): void;
  row(values: readonly unknown[]): void;
}

/** A pass that adds a table to a text. @param shown a value as a cell of a line */
function textPass(text: Growing, name: string, shown: (value: unknown) => string): TablePass {
  return {
    columns(names) {
      text.part(name, 0);
      text.add(`${names.map(cell).join("\t")}\n`);
    },
    row: (values) => text.add(`${values.map(shown).join("\t")}\n`),
  };
}

/** Goes through the rows of a table. */
export function passTable(database: Queried, name: string, pass: TablePass): void {
  const rows = database.prepare(`SELECT * FROM "${name.replaceAll('"', '""')}"`);
  rows.setReadBigInts(true);
  const columns = rows.columns().map((column) => column.name);
  pass.columns(columns);
  for (const row of rows.iterate()) pass.row(columns.map((column) => row[column]));
}

function shown(value: unknown, table: string, text: Growing): string {
  tellReplaced(value, table, text);
  if (!(value instanceof Uint8Array)) return cell(value);
  text.lose("binary value", table);
  return `(${value.length} bytes)`;
}

/** Tells of a text whose bytes are not UTF-8: SQLite keeps any, and gives U+FFFD for them. */
export function tellReplaced(value: unknown, table: string, text: Growing): void {
  if (typeof value === "string" && value.includes("\ufffd")) text.lose("character without a meaning", table);
}

const SLICE_ROWS = 5000;

/** Reads the rows of a Parquet file, with packages that a user installs. @throws Unreadable */
export async function readParquet(bytes: Buffer, text: Growing): Promise<void> {
  const pass = textPass(text, "rows", (value) => cell(plain(value)));
  await passParquet(bytes, text.progress, pass);
}

/** Goes through the rows of a Parquet file. @throws Unreadable */
export async function passParquet(bytes: Buffer, progress: (place: string) => void, pass: TablePass): Promise<void> {
  const { parquetMetadataAsync, parquetReadObjects, parquetSchema, compressors } = await parquetPackages();
  try {
    const file = new Uint8Array(bytes).buffer;
    const metadata = await parquetMetadataAsync(file);
    const columns = parquetSchema(metadata).children.map(({ element }) => element.name);
    pass.columns(columns);
    for (let rowStart = 0; rowStart < Number(metadata.num_rows); rowStart += SLICE_ROWS) {
      const part = { rowStart, rowEnd: Math.min(Number(metadata.num_rows), rowStart + SLICE_ROWS) };
      for (const row of await parquetReadObjects({ file, metadata, compressors, ...part })) {
        pass.row(columns.map((column) => row[column]));
      }
      progress(`row ${part.rowEnd}`);
    }
  } catch (error) {
    throw error instanceof Unreadable ? error : damaged("it is not a whole Parquet file");
  }
}

async function parquetPackages() {
  try {
    return { ...(await import("hyparquet")), ...(await import("hyparquet-compressors")) };
  } catch {
    throw new Unreadable(
      "needs_package",
      "needs a package that is not installed (npm i hyparquet hyparquet-compressors)",
    );
  }
}

function plain(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString();
  if (typeof value !== "object" || value === null) return value;
  return JSON.stringify(value, (_, inner) => (typeof inner === "bigint" ? String(inner) : inner));
}
