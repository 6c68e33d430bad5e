import { DatabaseSync, type SQLOutputValue } from "node:sqlite";

type Rows = readonly Readonly<Record<string, SQLOutputValue>>[];

/**
 * Whether a damaged store differs from the whole one in values of runs and jobs that have no checksum, and in nothing else of
 * them: docs/limitations/jobs.md says which these are.
 */
export function isUnsealed(original: string, damaged: string): boolean {
  const seals = sealsOfChanged(original, damaged);
  return seals !== null && seals.length > 0 && !seals.includes(true);
}

/** Whether a checksum covers it, of each value that has changed. Null: the damaged store cannot be read, or has other rows. */
function sealsOfChanged(original: string, damaged: string): readonly boolean[] | null {
  const seals: boolean[] = [];
  for (const table of ["runs", "jobs"]) {
    const [before, after] = [rowsOf(original, table), rowsOf(damaged, table)];
    if (!before || after?.length !== before.length) return null;
    for (const [at, row] of before.entries()) {
      const isFinal = table === "jobs" && FINAL.includes(String(row.state));
      for (const [column, value] of Object.entries(row)) {
        if (isEqual(value, after[at]?.[column])) continue;
        seals.push((isFinal && !UNSEALED.includes(column)) || (table === "jobs" && ASKED.includes(column)));
      }
    }
  }
  return seals;
}

const FINAL = ["done", "failed", "cancelled"];
/** Columns of what a job was asked: they have a checksum before the job is final too. */
const ASKED = ["input", "context", "asked"];
/**
 * A job is found by its run and id. If one of these was changed it is another job for those who look for it, and its checksum tells
 * it only when it is tried, or to `belay doctor`.
 */
const UNSEALED = ["run", "id", "spent_usd", "spent_tokens", "spent_calls", "changed_at"];

function rowsOf(path: string, table: string): Rows | null {
  try {
    using database = new DatabaseSync(path, { readOnly: true });
    const statement = database.prepare(`SELECT * FROM ${table}`);
    statement.setReadBigInts(true);
    return statement.all();
  } catch {
    return null;
  }
}

function isEqual(one: SQLOutputValue, other: SQLOutputValue | undefined): boolean {
  if (one instanceof Uint8Array) return other instanceof Uint8Array && Buffer.from(one).equals(other);
  return Object.is(one, other);
}
