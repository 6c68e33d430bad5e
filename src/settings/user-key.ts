import { randomBytes, randomUUID } from "node:crypto";
import { chmodSync, linkSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { readBoundedFile } from "../platform/bounded-file.ts";
import { errorCode } from "../platform/errors.ts";
import { makeFolder } from "../platform/make-folder.ts";

/** The key with which this user signs what a store keeps; or why there is none, as a clause about its file. */
export type UserKey = { readonly key: Buffer } | { readonly problem: string };

const BYTES = 32;
const DIGITS = 2 * BYTES;

/** The key, made if there is none. Two processes that make one at once both get the same. */
export function makeUserKey(path: string): UserKey {
  return readUserKey(path) ?? madeKey(path) ?? readUserKey(path) ?? { problem: "is gone again" };
}

/** The key; undefined if there is none. What another user could have put there, or could read, does not count. */
export function readUserKey(path: string): UserKey | undefined {
  const read = readBoundedFile(path, { maxBytes: 1024, followsLink: false, isPrivate: true });
  if (!read || "problem" in read) return read;
  if (!/^[0-9a-f]+$/.test(read.text) || read.text.length !== DIGITS) return { problem: "does not hold a whole key" };
  return { key: Buffer.from(read.text, "hex") };
}

/** Why no key can be made; undefined if there is one now. */
function madeKey(path: string): UserKey | undefined {
  try {
    makeFolder(dirname(path));
    placeKey(path, `${path}.${randomUUID()}`);
    return undefined;
  } catch (error) {
    return { problem: `cannot be made (${errorCode(error)})` };
  }
}

/** Whole or not at all, and unlike with a rename a key that another process has placed meanwhile stays. */
function placeKey(path: string, temporary: string): void {
  writeFileSync(temporary, randomBytes(BYTES).toString("hex"), { flag: "wx", mode: 0o600, flush: true });
  chmodSync(temporary, 0o600);
  try {
    linkSync(temporary, path);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
}
