import { randomBytes, randomUUID } from "node:crypto";
import { chmodSync, linkSync, rmSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Json } from "../../runtime/index.ts";
import { readBoundedFile } from "../platform/bounded-reads.ts";
import { errorCode } from "../platform/errors.ts";
import { keyPath } from "../platform/home.ts";
import { isRecord } from "../platform/json.ts";
import { makeFolder } from "../platform/make-folder.ts";
import { isWithin, realPath } from "../platform/paths.ts";
import { isSame, macOf } from "../platform/sealed.ts";
import { isServer, shownPlace } from "../store/store-place.ts";

/**
 * Signs the settings that sessions of one store keep, and tells whether this user has kept them. A
 * store may come from another user, so it grants nothing by itself: no server, key, folder or limit.
 */
export interface Signer {
  /** The settings with their signature; without one if there is no key (`problem`). */
  sign(settings: Json, session: string): Json;
  /** Why these settings of that session do not count, as a sentence's end; null: this user kept them here. */
  doubt(settings: Json, session: string): string | null;
  /** The settings that a fork keeps of its parent: signed if they were, else as they are. */
  forFork(fork: string): (parent: { readonly id: string; readonly settings: Json }) => Json;
  /** Why nothing can be signed, or null. The key is made if it is missing. */
  problem(): string | null;
  /** The place of the key, and the reason why it does not count; null: it does. Makes none. */
  look(): { readonly path: string; readonly isThere: boolean; readonly problem: string | null };
}

/** @param place of the store */
export function openSigner(place: string, env: NodeJS.ProcessEnv): Signer {
  const store = isServer(place) ? shownPlace(place) : realPath(resolve(place));
  const path = keyPath(env);
  const refused = isWithin(store, realPath(dirname(path))) ? { problem: "lies in the store" } : null;
  const made = (): UserKey => refused ?? makeUserKey(path);
  const there = (): UserKey | undefined => refused ?? readUserKey(path);

  function sign(settings: Json, session: string): Json {
    const own = made();
    const { rest } = parts(settings);
    if ("problem" in own) return rest;
    return { ...rest, signature: { store, mac: macOf(own.key, [OF_SETTINGS, store, session, rest]) } };
  }

  function doubt(settings: Json, session: string): string | null {
    const { rest, signature } = parts(settings);
    if (!signature)
      return "they are not signed (an earlier version of Belay, another user or a run without a key recorded them)";
    const own = there() ?? { problem: "does not exist" };
    if ("problem" in own) return `your key ${path} ${own.problem}`;
    const mac = macOf(own.key, [OF_SETTINGS, signature.store, session, rest]);
    if (!isSame(mac, signature.mac)) return "another user recorded them, or they are those of another session";
    return signature.store === store ? null : `the store was ${signature.store} when they were recorded`;
  }

  return {
    sign,
    doubt,
    forFork: (fork: string) => (parent: { readonly id: string; readonly settings: Json }) => {
      const { id, settings } = parent;
      return doubt(settings, id) === null ? sign(settings, fork) : settings;
    },
    problem(): string | null {
      const own = made();
      return "problem" in own ? `${path} ${own.problem}` : null;
    },
    look(): { readonly path: string; readonly isThere: boolean; readonly problem: string | null } {
      const own = there();
      return { path, isThere: own !== undefined, problem: own && "problem" in own ? own.problem : null };
    },
  };
}

const OF_SETTINGS = "belay session settings 1";

interface Parts {
  readonly rest: { readonly [key: string]: Json };
  readonly signature: { readonly store: string; readonly mac: string } | null;
}

function parts(settings: Json): Parts {
  if (!isRecord(settings)) return { rest: {}, signature: null };
  // Remarks on a session grant nothing, and any host may change them.
  const { signature = null, remarks: _remarks, ...rest } = settings;
  if (!isRecord(signature)) return { rest, signature: null };
  const { store, mac } = signature;
  return { rest, signature: typeof store === "string" && typeof mac === "string" ? { store, mac } : null };
}

/** The key with which this user signs what a store keeps; or why there is none, as a clause about its file. */
type UserKey = { readonly key: Buffer } | { readonly problem: string };

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
