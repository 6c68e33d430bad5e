import { hash } from "node:crypto";

/** Servers of one folder that are open at once have this many names. */
const MOST_AT_ONCE = 9;

/** Names that begin so belong to the folders that they are made from. */
export const SERVER_PREFIX = "mcp-";

/** The name of a folder's session: the same after any restart, whichever client it is. @param folder without symlinks */
export function folderSession(folder: string): string {
  return `${SERVER_PREFIX}${hash("sha256", folder).slice(0, 12)}`;
}

/** The name for the address in a client's entry: clients of one folder have sessions of their own. */
export function entrySession(client: string, folder: string): string {
  return `${client}-${folderSession(folder).slice(SERVER_PREFIX.length)}`;
}

/** The names that a server tries in turn: `NAME`, `NAME~2` to `NAME~9`. */
export function namesOf(base: string): readonly string[] {
  return [base, ...Array.from({ length: MOST_AT_ONCE - 1 }, (_, index) => `${base}~${index + 2}`)];
}
