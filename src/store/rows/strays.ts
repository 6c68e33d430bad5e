import type { Row } from "./seal.ts";

/** The columns by which rows name their owners; the two databases differ in them. */
interface Owners {
  /** The column of `pages` that has the number of their checkpoint. */
  readonly page: string;
  /** The column of `chunks` that names their part. */
  readonly chunk: string;
  /** The column of `parts` that names a part. */
  readonly part: string;
}

/** Kinds of rows whose owner is gone, and where they are counted. */
export function straysBy({ page, chunk, part }: Owners): (readonly [what: string, where: string])[] {
  return [
    ["records belong to no session", "journal WHERE session NOT IN (SELECT id FROM sessions)"],
    ["noted uses belong to no session", "uses WHERE session NOT IN (SELECT id FROM sessions)"],
    ["jobs belong to no run", "jobs WHERE run NOT IN (SELECT id FROM runs)"],
    ["reached checkpoints are missing", "reach WHERE checkpoint NOT IN (SELECT n FROM checkpoints)"],
    ["pages belong to no checkpoint", `pages WHERE ${page} NOT IN (SELECT n FROM checkpoints)`],
    ["chunks belong to no part", `chunks WHERE ${chunk} NOT IN (SELECT ${part} FROM parts)`],
  ];
}

export function strayIn(counted: Row | undefined, what: string): string[] {
  return counted && counted.n !== 0 ? [`${String(counted.n)} ${what}`] : [];
}
