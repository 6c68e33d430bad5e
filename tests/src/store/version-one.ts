import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gunzipSync } from "node:zlib";
import { APPLICATION_ID, MIGRATIONS } from "../../../src/store/sqlite/schema.ts";
import { folderWith } from "../../support/tree.ts";

const STORED = join(import.meta.dirname, "../../stored");

/** A folder whose store is of version 1: it has the rows of the stored sessions, in the tables that there were then. */
export function folderOfVersion1(): string {
  const [stored = ""] = globSync("bridge-*.db.gz", { cwd: STORED });
  const folder = folderWith({ "now.db": gunzipSync(readFileSync(join(STORED, stored))) });
  using database = new DatabaseSync(join(folder, "belay.db"));
  database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = 1; ${MIGRATIONS[0]}`);
  database.exec(`ATTACH '${join(folder, "now.db")}' AS now`);
  for (const { name } of database.prepare("SELECT name FROM main.sqlite_schema WHERE type = 'table'").all()) {
    const rows = database.prepare("SELECT name FROM pragma_table_info(?, 'main')").all(String(name));
    const columns = rows.map((column) => column.name).join(", ");
    database.exec(`INSERT INTO main.${name} (${columns}) SELECT ${columns} FROM now.${name}`);
  }
  database.exec("DETACH now");
  return folder;
}
