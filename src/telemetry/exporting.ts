import { describeSession } from "../session/index.ts";
import type { Store } from "../store/index.ts";
import { CAPTURE } from "./names.ts";
import type { Collector } from "./send.ts";
import type { Exporting } from "./spans.ts";

/** The children whose spans are among those of a session. */
const CHILDREN = 1000;

/** A stored session as spans need it. @throws as `describeSession` */
export async function exportingOf(store: Store, id: string, env: Collector["env"]): Promise<Exporting> {
  const session = await describeSession(store, id, { children: CHILDREN, partly: true });
  const { forked_from } = session;
  // Its checkpoint may be dropped or damaged by now.
  const forkedAfter = forked_from === null ? null : await store.checkpoint(forked_from).catch(() => null);
  return { session, forkedAfter, texts: env[CAPTURE]?.toLowerCase() === "true" };
}
