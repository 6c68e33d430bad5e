import { RlmError } from "../../../runtime/errors.ts";
import { numberColumn, textColumn } from "../rows/row.ts";
import { connect, type Server, type Sql } from "./connection.ts";
import { storedVersion } from "./schema.ts";

/** Facts of a server for a caller who only looks. */
export interface ServerFacts {
  /** The URL, without its password. */
  readonly name: string;
  readonly schema: string;
  /** Version of the schema; 0: there is none yet. */
  readonly version: number;
  /** Version of the schema of the queue, as pg-boss counts; null: there is none. */
  readonly queue: number | null;
  /** Version of PostgreSQL, such as `18.1`. */
  readonly server: string;
  /** True if what is committed survives a power cut. */
  readonly fsync: boolean;
  /**
   * True if others on the way can read along: the connection leaves the machine, and has no TLS.
   */
  readonly isOpenToOthers: boolean;
  /** True if this user may make the schema, or write to the one that is there. */
  readonly mayWrite: boolean;
}

/**
 * Looks at the server of a store, and changes nothing.
 *
 * @throws RlmError `store_failed`, `store_too_new`
 */
export async function lookAtServer(url: string): Promise<ServerFacts> {
  const server = await connect(url);
  try {
    await checkServer(server);
    return await server.read((sql) => factsOf(server, sql));
  } finally {
    await server.close();
  }
}

async function factsOf(server: Server, sql: Sql): Promise<ServerFacts> {
  const { name, schema } = server;
  const version = await storedVersion(server, sql);
  const row = await sql.get(LOOK, schema);
  if (!row) throw new Error("the server answered nothing");
  return {
    name,
    schema,
    version,
    queue: await queueVersion(server, sql),
    server: textColumn(row, "server"),
    fsync: textColumn(row, "fsync") === "on",
    isOpenToOthers: numberColumn(row, "is_foreign") === 1 && numberColumn(row, "tls") === 0,
    mayWrite: numberColumn(row, "may_write") === 1,
  };
}

/** A connection by a socket of the machine has no address. */
const LOOK = `SELECT current_setting('server_version') AS server, current_setting('fsync') AS fsync,
  (NOT coalesce(inet_server_addr() <<= '127.0.0.0/8' OR inet_server_addr() = '::1', true))::int AS is_foreign,
  coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false)::int AS tls,
  CASE WHEN to_regnamespace(quote_ident($1)) IS NULL THEN has_database_privilege(current_database(), 'CREATE')
    ELSE has_schema_privilege(to_regnamespace(quote_ident($1)), 'USAGE') END::int AS may_write`;

async function queueVersion({ schema }: Server, sql: Sql) {
  const queue = `${schema}_queue`;
  const there = await sql.get("SELECT 1 AS n FROM pg_tables WHERE schemaname = $1 AND tablename = 'version'", queue);
  const row = there && (await sql.get(`SELECT version FROM "${queue}".version`));
  return row ? numberColumn(row, "version") : null;
}

/** PostgreSQL 14, as `server_version_num` has it. */
const OLDEST = 140_000;

/**
 * A server of an older version lacks what the store is made of. A pooler may drop what each
 * connection asks for: tables would then lie in another schema, or a commit would not be on disk.
 * @throws RlmError `store_failed`
 */
export async function checkServer(server: Server): Promise<void> {
  const row = await server.get(SETTINGS);
  if (!row) throw new Error("the server answered nothing");
  const { name, schema } = server;
  if (numberColumn(row, "version_number") < OLDEST) {
    throw new RlmError(
      "store_failed",
      `${name} is PostgreSQL ${textColumn(row, "version")}, and Belay needs 14 or newer`,
      {
        suggestion: "Name a newer server.",
      },
    );
  }
  const path = textColumn(row, "path");
  if (firstIn(path) !== schema) throw dropped(server, `search_path is ${path || "empty"} and not ${schema}`);
  if (textColumn(row, "commits") === "off") throw dropped(server, "synchronous_commit is off");
}

const SETTINGS = `SELECT current_setting('server_version_num')::int AS version_number,
  current_setting('server_version') AS version, current_setting('search_path') AS path,
  current_setting('synchronous_commit') AS commits`;

/** The schema in which a connection makes its tables. @param path as `search_path` has it */
function firstIn(path: string): string {
  const [first = ""] = path.split(",");
  return first.trim().replace(/^"(.*)"$/, "$1");
}

function dropped({ name, schema }: Server, problem: string): RlmError {
  const message = `${name} does not take the settings of a connection, as poolers do: ${problem}`;
  return new RlmError("store_failed", message, {
    suggestion: `Connect to the server itself, or set it for the user: ALTER ROLE … SET search_path = ${schema}.`,
  });
}
