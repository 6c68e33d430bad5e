import { resolve } from "node:path";
import { RlmError } from "../../runtime/errors.ts";

// Where a store is: a folder, or the URL of a PostgreSQL server, `postgres://user@host/database`.

export function isServer(place: string): boolean {
  return /^postgres(ql)?:\/\//i.test(place);
}

/**
 * The place as the store takes it: a folder becomes absolute, and spaces around a URL go.
 *
 * @throws RlmError `store_failed` for a URL that names no PostgreSQL server: it never becomes a
 * folder, and is not shown
 */
export function placeOf(given: string): string {
  if (!isUrlLike(given)) return resolve(given);
  const url = given.trim();
  if (isServer(url)) return url;
  throw new RlmError("store_failed", "this is neither a folder nor a URL that begins with postgres://", {
    suggestion: "Write it as postgres://USER@HOST/DATABASE, without quotes; a folder of such a name as ./NAME.",
  });
}

/**
 * True if a person who wrote this meant a URL, whatever is wrong with it: the scheme, a slash,
 * quotes or spaces around it. A folder of such a name is written as `./NAME`.
 */
function isUrlLike(given: string): boolean {
  const bare = given.replace(/^[\s"'`<\p{Cf}]+/u, "");
  // A single letter before `:/` or `:\` is a drive. A client that puts no variable in leaves `${NAME}` or `{env:NAME}`.
  return /^(?![./~])(?:[\w+.-]{2,}:(?:\/|.*:\/)|[\w+.-]+:[^/\\].*@|postgres(?:ql)?:|\$\{|\{env:)/is.test(bare);
}

/** The place as people may see it, and as files may keep it: without a password. */
export function shownPlace(place: string): string {
  if (!isUrlLike(place)) return place;
  const url = wholeUrl(place);
  if (!url) return "postgres://…";
  if (url.password !== "") url.password = "***";
  for (const name of [...url.searchParams.keys()]) if (isSecret(name)) url.searchParams.set(name, "***");
  return url.href;
}

/** True if the place has what nobody may see. A URL that cannot be read may have it. */
export function hasSecret(place: string): boolean {
  if (!isUrlLike(place)) return false;
  const url = wholeUrl(place);
  return url === null || url.password !== "" || [...url.searchParams.keys()].some(isSecret);
}

const isSecret = (name: string) => ["password", "sslpassword", "passfile"].includes(name.toLowerCase());

/** null for a URL that cannot be read. A `/`, `?` or `#` in a password that is not encoded puts the rest of it elsewhere. */
function wholeUrl(place: string): URL | null {
  const given = place.trim();
  if (!isServer(given) || !URL.canParse(given)) return null;
  const url = new URL(given);
  return `${url.pathname}${url.search}${url.hash}`.includes("@") ? null : url;
}

/** Text in which no URL has a password: what stands before its `@` is left out, and so are passwords among its parameters. */
export function withoutPasswords(text: string): string {
  return text
    .replaceAll(/\S+/g, withoutPassword)
    .replaceAll(/([?&](?:ssl)?pass(?:word|file)=)(?!\*{3})[^&\s"'`]+/gi, "$1***");
}

/**
 * A word as above. Only what its last `@` ends is looked at, so that a URL which is found is never
 * looked at again.
 */
function withoutPassword(word: string): string {
  const end = word.lastIndexOf("@") + 1;
  const url = /\b(postgres(?:ql)?:\/{0,2}|[a-z][\w+.-]{1,64}:\/{1,2})(?=[^/@]*:)(?![^/@:]*:\*{3}@).*@/gi;
  return word.slice(0, end).replaceAll(url, "$1***@") + word.slice(end);
}

/**
 * The URL for the client, and the schema that its `?schema=` names.
 *
 * @throws RlmError `store_failed` for an invalid URL
 */
export function readServerUrl(given: string): { readonly connectionString: string; readonly schema: string } {
  const url = isServer(given) && URL.canParse(given) ? new URL(given) : null;
  // The rest of a password after a `/`, `?` or `#` is not the password for the client, and is shown
  // by servers.
  if (!url || `${url.pathname}${url.hash}${url.username === "" ? url.search : ""}`.includes("@"))
    throw notAUrl("the store's URL cannot be read: in names and passwords / ? # @ are written %2F %3F %23 %40");
  const schema = url.searchParams.get("schema") ?? "belay";
  if (!/^[a-z_][a-z0-9_]{0,50}$/.test(schema)) throw notAUrl(`${JSON.stringify(schema)} is not a name of a schema`);
  url.searchParams.delete("schema");
  // The client takes the weaker modes for the strictest one, with a warning to the user who cannot
  // know of it.
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
