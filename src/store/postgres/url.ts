import { RlmError } from "../../../runtime/errors.ts";
import { isServer } from "../store-place.ts";

/** The URL for the client, and the schema that its `?schema=` names. @throws RlmError `store_failed` for an invalid URL */
export function readServerUrl(given: string): { readonly connectionString: string; readonly schema: string } {
  const url = isServer(given) && URL.canParse(given) ? new URL(given) : null;
  // What follows a `/`, `?` or `#` in a password is not the password for the client, and is shown by servers.
  if (!url || `${url.pathname}${url.hash}${url.username === "" ? url.search : ""}`.includes("@"))
    throw notAUrl("the store's URL cannot be read: in names and passwords / ? # @ are written %2F %3F %23 %40");
  const schema = url.searchParams.get("schema") ?? "belay";
  if (!/^[a-z_][a-z0-9_]{0,50}$/.test(schema)) throw notAUrl(`${JSON.stringify(schema)} is not a name of a schema`);
  url.searchParams.delete("schema");
  // The client takes the weaker modes for the strictest one, with a warning to the user who cannot know of it.
  if (/^(?:prefer|require|verify-ca)$/.test(url.searchParams.get("sslmode") ?? "")) {
    if (url.searchParams.get("uselibpqcompat") !== "true") url.searchParams.set("sslmode", "verify-full");
  }
  return { connectionString: url.href, schema };
}

function notAUrl(problem: string): RlmError {
  return new RlmError("store_failed", problem, {
    suggestion: "Write it as postgres://USER@HOST/DATABASE?schema=NAME, with small letters, digits and _ in NAME.",
  });
}
