import { dirname, resolve } from "node:path";
import type { Json } from "../../runtime/index.ts";
import { keyPath } from "../platform/home.ts";
import { isRecord } from "../platform/json.ts";
import { isWithin, realPath } from "../platform/real-path.ts";
import { isSame, macOf } from "../platform/sealed.ts";
import { isServer, shownPlace } from "../store/store-place.ts";
import { makeUserKey, readUserKey, type UserKey } from "./user-key.ts";

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
  // What people say of a session grants nothing, and any host may change it.
  const { signature = null, remarks: _remarks, ...rest } = settings;
  if (!isRecord(signature)) return { rest, signature: null };
  const { store, mac } = signature;
  return { rest, signature: typeof store === "string" && typeof mac === "string" ? { store, mac } : null };
}
