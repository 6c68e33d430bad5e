import type { Json } from "../../../runtime/index.ts";
import type { NewSession, SessionRow, Store } from "../../store/index.ts";

/** The session with this name or id, leased; made where there is none. */
export async function leasedRow(
  store: Store,
  named: string | undefined,
  fresh: Omit<NewSession, "name" | "settings">,
  settings?: (session: string) => Json,
): Promise<SessionRow> {
  const found = named === undefined ? null : await store.find(named);
  if (!found) return store.create({ ...fresh, name: named ?? null, settings: settings?.(fresh.id) ?? null });
  const row = await store.lease(found.id);
  const kept = settings?.(row.id) ?? null;
  if (kept === null || JSON.stringify(kept) === JSON.stringify(row.settings)) return row;
  await store.commit(row.id, { settings: kept });
  return row;
}
