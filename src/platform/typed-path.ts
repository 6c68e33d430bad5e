import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { withHome } from "./home.ts";
import { isNetworkPath } from "./paths.ts";

const QUOTES = ['"', "'", "`"];
const FILE_URL = "file:";

/**
 * The path that a model or a person means where no shell has read it: without quotes around it, `~` as the home folder, and a file
 * URL as its path. A file that has the name as it was typed comes first.
 *
 * @param cwd at which a relative path starts
 */
export function typedPath(typed: string, cwd: string): string {
  const plain = unquoted(typed.trim());
  const meant = plain.startsWith(FILE_URL) ? urlPaths(plain) : [withHome(plain)];
  const isThere = (path: string) => !isNetworkPath(path) && existsSync(resolve(cwd, path));
  return [typed, ...meant].find(isThere) ?? meant[0] ?? typed;
}

function unquoted(text: string): string {
  const [first = ""] = text;
  const isQuoted = text.length > 2 && QUOTES.includes(first) && text.endsWith(first);
  return isQuoted ? text.slice(1, -1) : text;
}

/** The path of a URL, then what follows `file://` unchanged: not everyone who writes it there encodes `%`, `#` and `?`. */
function urlPaths(url: string): readonly string[] {
  const literal = url.startsWith("file:///") ? [url.slice("file://".length)] : [];
  try {
    return [fileURLToPath(url), ...literal];
  } catch {
    return literal;
  }
}
