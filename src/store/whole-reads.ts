import { hasCode } from "../../runtime/index.ts";
import type { DamagedRow, Jobs, RunRow } from "./job-store.ts";
import { type SessionRow, type Store, VERIFY_PARTS, type VerifyPart } from "./port.ts";

export interface Verified {
  readonly part: VerifyPart;
  /** The number of parts that were done before this one, and of all parts. */
  readonly done: number;
  readonly parts: number;
  readonly findings: readonly string[];
}

/**
 * Looks through the whole store, page by page. Each page is of one moment. Whoever stops early
 * reads no further page.
 */
export async function* verifyStore({ verify }: Pick<Store, "verify">): AsyncGenerator<Verified, void, undefined> {
  const parts = VERIFY_PARTS.length;
  for (const [done, part] of VERIFY_PARTS.entries()) {
    const seen = new Set<string>();
    yield { part, done, parts, findings: [] };
    for (let after: string | null = null; ; ) {
      const { findings, next }: Awaited<ReturnType<Store["verify"]>> = await verify(part, after);
      yield { part, done, parts, findings };
      if (next === null) break;
      if (seen.has(next)) {
        // A damaged index may lead in a circle.
        yield { part, done, parts, findings: [`database: the rows of the part ${part} are out of order`] };
        break;
      }
      seen.add(next);
      after = next;
    }
  }
}

/** One line for each finding, none if all is well. */
export async function findingsIn(store: Pick<Store, "verify">): Promise<string[]> {
  const found: string[] = [];
  for await (const { findings } of verifyStore(store)) found.push(...findings);
  return found;
}

/**
 * Every session but children, the one changed last first. Whoever stops early reads no further
 * page. One that is changed meanwhile comes to the front, and is left out if its page was still to
 * be read.
 * @param without ids that are left out
 */
export function everySession({ list }: Pick<Store, "list">, without: readonly string[] = []) {
  return everyRow<SessionRow>((last) => {
    const after = last && { id: last.id, changed_at: last.changed_at };
    return list({ after, limit: PAGE, without });
  });
}

/**
 * Every run, the newest first. Whoever stops early reads no further page.
 *
 * @param without ids that are left out
 */
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

/** The rows that can be read, and those that cannot. */
export interface ReadablePart<Found> {
  readonly found: Found;
  readonly damaged: readonly DamagedRow[];
}

/**
 * Reads rows without those that are damaged. They are looked for only once the reading was refused
 * because of one.
 * @param read takes the ids of rows that it leaves out
 */
export async function readablePart<Found>(
  read: (without: readonly string[]) => Promise<Found>,
  damagedRows: () => Promise<readonly DamagedRow[]>,
): Promise<ReadablePart<Found>> {
  try {
    return { found: await read([]), damaged: [] };
  } catch (error) {
    if (!hasCode(error, "store_corrupt")) throw error;
    const damaged = await damagedRows();
    if (damaged.length === 0) throw error;
    return { found: await read(damaged.map(({ id }) => id)), damaged };
  }
}
