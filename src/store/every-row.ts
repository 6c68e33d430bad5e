import type { Jobs, RunRow } from "./jobs/port.ts";
import type { SessionRow, Store } from "./port.ts";

/**
 * Every session but children, the one changed last first. Whoever stops early reads no further page. One that is changed meanwhile
 * comes to the front, and is left out if its page was still to be read.
 * @param without ids that are left out
 */
export function everySession({ list }: Pick<Store, "list">, without: readonly string[] = []) {
  return everyRow<SessionRow>((last) => {
    const after = last && { id: last.id, changed_at: last.changed_at };
    return list({ after, limit: PAGE, without });
  });
}

/** Every run, the newest first. Whoever stops early reads no further page. @param without ids that are left out */
export function everyRun(jobs: Pick<Jobs, "runs">, without: readonly string[] = []) {
  return everyRow<RunRow>((last) => jobs.runs({ after: last?.id ?? null, limit: PAGE, without }));
}

const PAGE = 500;

/** @param page reads the rows behind the last one that was read */
async function* everyRow<Row>(
  page: (last: Row | null) => Promise<readonly Row[]>,
): AsyncGenerator<Row, void, undefined> {
  for (let last: Row | null = null; ; ) {
    const rows: readonly Row[] = await page(last);
    yield* rows;
    last = rows.at(-1) ?? null;
    if (rows.length < PAGE) return;
  }
}
