import { RlmError } from "../../../runtime/errors.ts";
import { madeTooEarly } from "../failure.ts";
import { numberColumn } from "../rows/seal.ts";
import type { Server, Sql } from "./connection.ts";
import { FUNCTIONS } from "./functions.ts";
import { FIRST_VERSION, MIGRATIONS, SCHEMA_VERSION } from "./schema.ts";

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
    for (const migration of MIGRATIONS.slice(version === 0 ? 0 : version - FIRST_VERSION + 1)) await sql.run(migration);
    await sql.run(FUNCTIONS);
    await sql.run("DELETE FROM meta");
    await sql.run("INSERT INTO meta (version, application) VALUES ($1, $2)", SCHEMA_VERSION, APPLICATION);
  });
}

/** Version of the store; 0 if the schema is not there, or is empty. @throws RlmError `store_failed`, `store_too_new` */
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
  const version = numberColumn(meta, "version");
  if (version < FIRST_VERSION) {
    throw madeTooEarly(
      `the store on ${name}`,
      "Name another schema with ?schema=NAME in the URL: a new store is made there.",
    );
  }
  if (version <= SCHEMA_VERSION) return version;
  const message = `the store on ${name} is of version ${version}; this build reads versions up to ${SCHEMA_VERSION}`;
  throw new RlmError("store_too_new", message, { suggestion: "Update Belay, or name another schema in the URL." });
}
