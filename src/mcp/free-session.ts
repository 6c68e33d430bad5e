import { type Clock, RlmError } from "../../runtime/index.ts";
import { nullIf } from "../platform/errors.ts";
import type { Session } from "../session/index.ts";
import type { SessionRow, Store } from "../store/index.ts";
import { namesOf } from "./session-name.ts";

/** A session that no other process has, and the warning of every answer if it is not the wanted one, else null. */
export interface FreeSession {
  readonly session: Session;
  readonly warning: string | null;
}

/**
 * The session of this name, or the first of `NAME~2` to `NAME~9` that no other process has open. The wanted one is waited
 * for a little: a server that has just been started may find its predecessor leaving.
 *
 * @param open opens it, given its row if there is one; may throw `session_busy` and `session_exists`
 * @throws RlmError `session_busy` if all are open elsewhere
 */
export async function openFree(
  store: Pick<Store, "find">,
  clock: Clock,
  wanted: string,
  open: (name: string, row: SessionRow | null) => Promise<Session>,
): Promise<FreeSession> {
  const until = clock.monotonic() + PREDECESSOR_MS;
  let holder: SessionRow | null = null;
  for (const name of namesOf(wanted)) {
    for (;;) {
      const row = await store.find(name);
      const session = row?.busy ? null : await unlessTaken(open(name, row));
      const warning = holder && `session_shared: ${wanted} is open in ${processOf(holder)}; this is ${name}`;
      if (session) return { session, warning };
      if (name === wanted) holder = row;
      if (name !== wanted || clock.monotonic() >= until) break;
      await new Promise<void>((resolve) => void clock.after(POLL_MS, resolve));
      holder = null;
    }
  }
  throw new RlmError("session_busy", `${wanted} and all of its other names are open in other processes`, {
    suggestion: "Close another client of this folder, or go over to another session with rlm_wait and session: NAME.",
  });
}

const PREDECESSOR_MS = 3_000;
const POLL_MS = 100;

/** Another process may have been faster. */
const unlessTaken = (opening: Promise<Session>) => nullIf("session_busy", nullIf("session_exists", opening));

function processOf({ holder }: SessionRow): string {
  return holder ? `process ${holder.pid}` : "another process";
}
