import { RlmError } from "../../../runtime/errors.ts";
import { unpackText } from "../rows/pack.ts";
import { number, text } from "../rows/seal.ts";
import { addUses, hashesIn } from "../sql/uses.ts";
import type { Server, Sql } from "./connection.ts";
import { FUNCTIONS } from "./functions.ts";
import { MIGRATIONS, SCHEMA_VERSION, USES_VERSION } from "./schema.ts";

const APPLICATION = "belay";

/**
 * Makes the schema of the store, or brings it up to date. One process at a time does so.
 * @throws RlmError `store_too_new`, or `store_failed` for a schema of another program; both are left as they are
 */
export async function migrate(server: Server): Promise<void> {
  if ((await storedVersion(server, server)) === SCHEMA_VERSION) return;
  await server.write(async (sql) => {
    await sql.run("SELECT pg_advisory_xact_lock(hashtext($1))", `belay ${server.schema}`);
    const version = await storedVersion(server, sql);
    if (version === SCHEMA_VERSION) return;
    await sql.run(`CREATE SCHEMA IF NOT EXISTS "${server.schema}"`);
    if (version === 0) await sql.run("CREATE TABLE meta (version int NOT NULL, application text NOT NULL)");
    for (const migration of MIGRATIONS.slice(version)) await sql.run(migration);
    await sql.run(FUNCTIONS);
    if (version > 0 && version < USES_VERSION) await noteEarlierUses(sql);
    await sql.run("DELETE FROM meta");
    await sql.run("INSERT INTO meta (version, application) VALUES ($1, $2)", SCHEMA_VERSION, APPLICATION);
  });
}

/** Version of the store; 0: the schema is not there, or it is empty. @throws RlmError `store_failed`, `store_too_new` */
export async function storedVersion({ name, schema }: Server, sql: Sql): Promise<number> {
  const tables = await sql.all("SELECT tablename FROM pg_tables WHERE schemaname = $1", schema);
  if (tables.length === 0) return 0;
  const hasMeta = tables.some(({ tablename }) => tablename === "meta");
  const meta = hasMeta ? await sql.get(`SELECT version, application FROM "${schema}".meta`) : undefined;
  if (meta?.application !== APPLICATION) {
    throw new RlmError("store_failed", `the schema ${schema} on ${name} is that of another program`, {
      suggestion: "Name another schema with ?schema=NAME in the URL.",
    });
  }
  const version = number(meta, "version");
  if (version <= SCHEMA_VERSION) return version;
  const message = `the store on ${name} is of version ${version}; this build reads versions up to ${SCHEMA_VERSION}`;
  throw new RlmError("store_too_new", message, { suggestion: "Update Belay, or name another schema in the URL." });
}

/** Notes what the sessions of an earlier build use: all that is kept of them is read. */
async function noteEarlierUses(sql: Sql): Promise<void> {
  for (const row of await sql.all("SELECT id FROM sessions")) {
    const id = text(row, "id");
    const named = new Set<string>();
    for (const kept of KEPT) {
      for (const one of await sql.all(kept, id)) {
        for (const column of Object.keys(one)) hashesIn(unpackText(one, column), named);
      }
    }
    await sql.perform(addUses(id, named));
  }
}

/** Texts of a session. */
const KEPT = [
  "SELECT facts, settings FROM sessions WHERE id = $1",
  "SELECT content FROM journal WHERE session = $1",
  "SELECT meta, beside FROM checkpoints WHERE n IN (SELECT checkpoint FROM reach WHERE session = $1)",
] as const;
