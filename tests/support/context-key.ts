import { EMPTY_ACCOUNT, follow } from "../../src/session/journal/account.ts";
import { readRecord } from "../../src/session/journal/records.ts";
import type { Store } from "../../src/store/index.ts";

/** The key under which the store has the context of a session. */
export async function contextKey(store: Pick<Store, "journal">, session: string): Promise<string> {
  const records = (await store.journal(session)).map(({ record }) => readRecord(record));
  return records.reduce(follow, EMPTY_ACCOUNT).context_key ?? "";
}
