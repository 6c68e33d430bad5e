import { tokensOf } from "../../models/index.ts";
import { type Complete, contextKeyIn, hashOf, type JournalRecord, readRecord } from "../../session/index.ts";
import type { SessionRow, Store, StoredRecord } from "../../store/index.ts";
import type { CompleteEntry, StartEntry } from "./entries.ts";

/** The receiver of the journal's mirror. */
interface MirrorTarget {
  /** The call of Pi that the running exec answers. */
  toolCallId(): string;
  /** Appends an entry to Pi's branch. May throw: the session may have been left. */
  append(type: JournalRecord["record"], data: object): void;
  /** Told of every record once it is kept. */
  kept(session: string, record: JournalRecord): void;
}

/** A store that also tells Pi's branch of what it keeps. */
export interface MirroredStore extends Store {
  /** The newest checkpoint of an exec's end of a session that was leased or made here. */
  head(session: string): string | null;
  /** True if an exec was begun in it through this store. */
  isUsed(session: string): boolean;
  /** The store itself, for what the branch is not to be told of. */
  readonly unmirrored: Store;
}

/**
 * Mirrors the journal as entries of Pi's branch. The start of an exec is mirrored before the store
 * keeps it: recovery runs a start again that is on the branch alone, and would not find one that is
 * in the store alone. The rest is mirrored after. Of an ask only its own start and end are
 * mirrored, and of the sessions of children nothing: the store has the rest.
 */
export function mirrored(store: Store, target: MirrorTarget): MirroredStore {
  const heads = new Map<string, string | null>();
  const used = new Set<string>();
  const children = new Set<string>();
  /** Execs that are turns and cells of asks. */
  const inAsks = new Set<string>();
  const follow = (record: StoredRecord) => {
    if (record.record === "rlm_start" && "ask" in record && record.ask !== undefined) inAsks.add(record.exec_id);
  };
  const seen = <Row extends SessionRow>(row: Row) => {
    heads.set(row.id, row.head);
    if (row.origin === "child") children.add(row.id);
    return row;
  };
  return {
    ...store,
    head: (session) => heads.get(session) ?? null,
    isUsed: (session) => used.has(session),
    unmirrored: store,
    create: async (session) => seen(await store.create(session)),
    lease: async (id) => seen(await store.lease(id)),
    // A session is opened by its journal: it says which ask an interrupted exec is of.
    async journal(session, from) {
      const kept = await store.journal(session, from);
      for (const { record } of kept) follow(record);
      return kept;
    },
    async commit(session, step) {
      if (children.has(session)) return store.commit(session, step);
      const records = (step.records ?? []).map(readRecord);
      for (const record of records) {
        follow(record);
        if (record.record === "rlm_start" && !inAsks.has(record.exec_id)) {
          const { exec_id, kind } = record;
          const parent = heads.get(session) ?? null;
          const entry: StartEntry = { tool_call_id: target.toolCallId(), session, exec_id, kind, parent };
          target.append("rlm_start", entry);
        }
      }
      const { checkpoint } = step;
      if (records.length > 0) used.add(session);
      const more = await store.commit(session, step);
      if (checkpoint?.kind === "end") heads.set(session, checkpoint.id);
      for (const record of records) {
        if (!inAsks.has(record.exec_id)) mirror(target, session, record, heads.get(session) ?? null);
        target.kept(session, record);
      }
      return more;
    },
  };
}

/** The entry that mirrors the end of an exec. */
export function completeEntry(session: string, complete: Complete, checkpoint: string | null): CompleteEntry {
  const { exec_id, kind, success, error_code, context_hash, call_count, resumed } = complete;
  const context_key = contextKeyIn(complete);
  const counts = { call_count, time_ms: Math.round(complete.time_ms), resumed };
  return { session, exec_id, kind, success, error_code, checkpoint, context_hash, context_key, ...counts };
}

function mirror(target: MirrorTarget, session: string, record: JournalRecord, head: string | null): void {
  const data = dataOf(session, record, head);
  if (!data) return;
  try {
    target.append(record.record, data);
  } catch {
    // The record is committed; a later process reads it from the store even if Pi's entry is
    // missing.
  }
}

/** The data of the entry that mirrors a record; null if none does. */
function dataOf(session: string, record: JournalRecord, head: string | null): object | null {
  switch (record.record) {
    case "rlm_tool_call": {
      const { exec_id, call_id, checkpoint_id: checkpoint, name, args_hash, call_count } = record;
      return { session, exec_id, call_id, checkpoint, name, args_hash, call_count };
    }
    case "rlm_tool_result": {
      const { exec_id, call_id, name, success, usage, cached, refused } = record;
      const spent = { tokens: tokensOf(usage), cost_usd: usage.cost_usd };
      const value_hash = hashOf(record.value);
      return { session, exec_id, call_id, name, success, ...spent, cached, refused, value_hash };
    }
    case "rlm_complete":
      return completeEntry(session, record, head);
    default:
      return null;
  }
}
