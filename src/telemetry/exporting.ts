import { describeSession, type SessionDescription } from "../session/index.ts";
import type { Store } from "../store/index.ts";
import { CAPTURE } from "./names.ts";
import type { Collector } from "./send.ts";
import type { Exporting } from "./spans.ts";

/** The children whose spans are among those of a session. */
const CHILDREN = 1000;

/** A stored session as spans need it. @throws as `describeSession` */
export async function exportingOf(store: Store, id: string, env: Collector["env"]): Promise<Exporting> {
  const session = await describeSession(store, id, { children: CHILDREN, partly: true });
  const forkedAfter = await originOf(store, session);
  return { session, forkedAfter, texts: env[CAPTURE]?.toLowerCase() === "true" };
}

/** The place of the exec after which the session was forked; null if its checkpoint cannot be read any more. */
async function originOf(store: Store, { forked_from }: SessionDescription): Promise<Exporting["forkedAfter"]> {
  if (forked_from === null) return null;
  return store.checkpoint(forked_from).catch(() => null);
}
