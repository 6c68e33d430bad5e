import { RlmError, remedy } from "../../../runtime/index.ts";
import { displayName } from "../../platform/ids.ts";
import type { SessionRow, Store } from "../../store/index.ts";

/**
 * A child answers one call of its parent, by an ask over a part of P. It is known by its name alone, so whoever answers the
 * call once more finds the child again.
 */
export function childName(parentId: string, callId: string): string {
  return `${parentId}.${callId}`;
}

/** True if a name is that of a child: it begins with an id, which is a ULID, and a dot. */
export function isChildName(name: string): boolean {
  return /^[0-9A-HJKMNP-TV-Z]{26}\./.test(name);
}

/** Only the holder of its parent opens or drops a child. @throws RlmError `invalid_argument` for a child */
export async function refuseChild(store: Pick<Store, "find">, row: SessionRow): Promise<void> {
  if (row.origin !== "child") return;
  const [parentId = "", ...call] = (row.name ?? "").split(".");
  const root = displayName(await rootOf(store, parentId));
  throw new RlmError("invalid_argument", `session ${row.id} is a child: it answers call ${call.join(".")} of ${root}`, {
    suggestion: `It goes on, and is dropped, with ${root}. To look around in it, ${remedy("fork", row.id)}.`,
  });
}

/** The session that no other one's call has made, from the parent of a child upwards. */
async function rootOf(store: Pick<Store, "find">, parentId: string): Promise<Pick<SessionRow, "id" | "name">> {
  let id = parentId;
  for (let level = 0; level < MOST_LEVELS; level++) {
    const row = await store.find(id);
    if (row?.origin !== "child") return row ?? { id, name: null };
    [id = ""] = (row.name ?? "").split(".");
  }
  return { id, name: null };
}

/** More than children may be deep. */
const MOST_LEVELS = 10;
