import { RlmError } from "../../../runtime/errors.ts";
import { number, text } from "../rows/seal.ts";
import type { Server } from "./connection.ts";

/** PostgreSQL 14, as `server_version_num` has it. */
const OLDEST = 140_000;

/**
 * A server of an older version lacks what the store is made of. A pooler may drop what each connection asks for: tables
 * would then lie in another schema, or a commit would not be on disk.
 * @throws RlmError `store_failed`
 */
export async function checkServer(server: Server): Promise<void> {
  const row = await server.get(SETTINGS);
  if (!row) throw new Error("the server answered nothing");
  const { name, schema } = server;
  if (number(row, "version_number") < OLDEST) {
    throw new RlmError("store_failed", `${name} is PostgreSQL ${text(row, "version")}, and Belay needs 14 or newer`, {
      suggestion: "Name a newer server.",
    });
  }
  const path = text(row, "path");
  if (firstIn(path) !== schema) throw dropped(server, `search_path is ${path || "empty"} and not ${schema}`);
  if (text(row, "commits") === "off") throw dropped(server, "synchronous_commit is off");
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
