import type { JournalRecord } from "./journal.ts";

/**
 * Where a session's records go. Every method may reject when the store cannot do it; then nothing of that call was
 * kept.
 */
export interface Store {
  /** Appends records to the session's journal: all of them or none. */
  commit(session: string, records: readonly JournalRecord[]): Promise<void>;
  /** The session's records in order; none for an unknown session. */
  journal(session: string): Promise<readonly JournalRecord[]>;
}

/** A store that lives as long as the process. Records are kept as JSON: they must survive that in any store. */
export function openMemoryStore(): Store {
  const journals = new Map<string, string[]>();
  return {
    async commit(session, records) {
      const journal = journals.get(session) ?? [];
      journals.set(session, journal);
      journal.push(...records.map((record) => JSON.stringify(record)));
    },
    journal: async (session) => (journals.get(session) ?? []).map((record): JournalRecord => JSON.parse(record)),
  };
}
