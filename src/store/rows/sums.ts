import type { Row } from "./seal.ts";

const COLUMNS = ["usd", "tokens", "calls"] as const;

/** The money of each run by its own row, and the sums over its jobs and holds. */
export const SUMS = `SELECT r.name, ${COLUMNS.map(
  (column) => `r.spent_${column}, r.held_${column},
  (SELECT CAST(coalesce(sum(spent_${column}), 0) AS bigint) FROM jobs WHERE run = r.id) AS sum_spent_${column},
  (SELECT CAST(coalesce(sum(${column}), 0) AS bigint) FROM holds WHERE run = r.id) AS sum_held_${column}`,
).join(", ")} FROM runs r ORDER BY r.id`;

/** A line for each sum of a run that is not that of its jobs and holds. @param row one of {@link SUMS} */
export function wrongSumsIn(row: Row): string[] {
  return ["spent", "held"].flatMap((kind) =>
    COLUMNS.flatMap((column) => {
      const [told, sum] = [row[`${kind}_${column}`], row[`sum_${kind}_${column}`]];
      return told === sum
        ? []
        : [`run ${String(row.name)}: its ${kind} ${column} are ${told}, those of its jobs ${sum}`];
    }),
  );
}
