import { PLACES } from "../rows/pages.ts";
import { numberColumn, type Row } from "../rows/seal.ts";
import { all, get, type Plan, raw, type Statement, spelled, sql } from "./sql.ts";

/** A line for each sum of a run that is not that of its jobs and holds. */
export function* wrongSums(): Plan<readonly string[]> {
  return (yield* all(raw(SUMS))).flatMap(wrongSumsIn);
}

const COLUMNS = ["usd", "tokens", "calls"] as const;

/** The money of each run by its own row, and the sums over its jobs and holds. */
const SUMS = `SELECT r.name, ${COLUMNS.map(
  (column) => `r.spent_${column}, r.held_${column},
  (SELECT CAST(coalesce(sum(spent_${column}), 0) AS bigint) FROM jobs WHERE run = r.id) AS sum_spent_${column},
  (SELECT CAST(coalesce(sum(${column}), 0) AS bigint) FROM holds WHERE run = r.id) AS sum_held_${column}`,
).join(", ")} FROM runs r ORDER BY r.id`;

/** @param row one of {@link SUMS} */
function wrongSumsIn(row: Row): string[] {
  const wrong: string[] = [];
  for (const kind of ["spent", "held"]) {
    for (const column of COLUMNS) {
      const told = row[`${kind}_${column}`];
      const sum = row[`sum_${kind}_${column}`];
      if (told !== sum)
        wrong.push(`run ${String(row.name)}: its ${kind} ${column} are ${told}, those of its jobs ${sum}`);
    }
  }
  return wrong;
}

/** Rows whose owner is gone: no reader finds them, but they take space. */
export function* strays(): Plan<readonly string[]> {
  const findings: string[] = [];
  for (const [what, rows] of STRAYS) {
    const counted = yield* get(sql`SELECT count(*) AS n FROM ${rows}`);
    const n = counted ? numberColumn(counted, "n") : 0;
    if (n > 0) findings.push(`${n} ${what}`);
  }
  return findings;
}

const STRAYS: readonly (readonly [what: string, rows: Statement])[] = [
  ["records belong to no session", sql`journal WHERE session NOT IN (SELECT id FROM sessions)`],
  ["noted uses belong to no session", sql`uses WHERE session NOT IN (SELECT id FROM sessions)`],
  ["jobs belong to no run", sql`jobs WHERE run NOT IN (SELECT id FROM runs)`],
  ["answers belong to no run", sql`answers WHERE run NOT IN (SELECT id FROM runs)`],
  ["reached checkpoints are missing", sql`reach WHERE checkpoint NOT IN (SELECT n FROM checkpoints)`],
  [
    "pages belong to no checkpoint",
    sql`pages WHERE ${spelled(raw(`place / ${PLACES}`), raw("checkpoint"))} NOT IN (SELECT n FROM checkpoints)`,
  ],
  [
    "chunks belong to no part",
    sql`chunks WHERE ${spelled(
      raw(`place / ${PLACES} NOT IN (SELECT n FROM parts)`),
      raw("part NOT IN (SELECT hash FROM parts)"),
    )}`,
  ],
];
