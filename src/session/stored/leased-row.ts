import type { Json } from "../../../runtime/index.ts";
import type { Lease, NewSession, Store } from "../../store/index.ts";
import type { HostedOptions } from "../api.ts";
import { refuseChild } from "./children.ts";
import { type RemarkOptions, remarksNow, withRemarks } from "./remarks.ts";
import { checkNewName } from "./sessions.ts";

/**
 * The session with this name or id, leased. It is made if it does not exist.
 * @throws RlmError `invalid_argument` for a child, unless it is opened as one
 */
export async function leasedRow(
  store: Store,
  { session: named, ...options }: Pick<HostedOptions, "session"> & RemarkOptions,
  fresh: Omit<NewSession, "name" | "settings">,
  settings?: (session: string) => Json,
): Promise<Lease> {
  const found = named === undefined ? null : await store.find(named);
  if (found && fresh.origin !== "child") await refuseChild(store, found);
  if (!found) {
    if (named !== undefined && fresh.origin !== "child") checkNewName(named);
    const kept = withRemarks(settings?.(fresh.id) ?? null, remarksNow(null, options));
    return store.create({ ...fresh, name: named ?? null, settings: kept });
  }
  const row = await store.lease(found.id);
  const kept = withRemarks(settings?.(row.id) ?? row.settings, remarksNow(row, options));
  if (JSON.stringify(kept) === JSON.stringify(row.settings)) return row;
  await store.commit(row.id, { settings: kept });
  return row;
}
