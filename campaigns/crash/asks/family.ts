import { readRecord } from "../../../src/session/journal/records.ts";
import type { SessionRow, Store } from "../../../src/store/index.ts";

/** What a store has of an ask and of its children at one moment. */
export interface Family {
  /** The ask's own session first. */
  readonly sessions: readonly SessionRow[];
  /** Whether the ask has begun. */
  readonly isBegun: boolean;
  /** Replies of models that are recorded: of turns, and of plain sub-calls. */
  readonly replies: number;
  /** Children and asks that are not over. */
  readonly open: number;
}

export const NO_FAMILY: Family = { sessions: [], isBegun: false, replies: 0, open: 0 };

/** Reads a session and its children by their journals; null: there is none of this name. */
export async function familyOf(store: Store, name: string): Promise<Family | null> {
  const row = await store.find(name);
  if (!row) return null;
  const records = (await store.journal(row.id)).map(({ record }) => readRecord(record));
  const asks = records.filter((one) => one.record !== "rlm_resume" && "kind" in one && one.kind === "ask");
  const results = records.filter((one) => one.record === "rlm_tool_result");
  let family: Family = {
    sessions: [row],
    isBegun: asks.length > 0,
    replies: results.filter((result) => !result.child && result.success).length,
    open: asks.length === 2 ? 0 : 1,
  };
  for (const record of records) {
    if (record.record !== "rlm_tool_call") continue;
    const child = await familyOf(store, `${row.id}.${record.call_id}`);
    if (child) family = joined(family, child);
  }
  return family;
}

function joined(family: Family, child: Family): Family {
  return {
    ...family,
    sessions: [...family.sessions, ...child.sessions],
    replies: family.replies + child.replies,
    open: family.open + child.open,
  };
}
