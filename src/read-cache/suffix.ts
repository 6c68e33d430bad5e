/**
 * The lines of `path:n` or `path:n-m`, with the path before them and the fault of the lines, null if they can be. Returns null if
 * the path has no such end. It may be the whole name of a file.
 */
export function suffixOf(named: string) {
  const [, path = "", first = "", last = first] = SUFFIX.exec(named) ?? [];
  if (path === "") return null;
  const start = Number(first);
  const end = Number(last);
  const range = last === first ? first : `${first}-${last}`;
  const problem = start < 1 || end < start ? badRange(range, named) : null;
  return { path, offset: start, limit: end - start + 1, problem };
}

/** The message about impossible lines. */
export function badRange(range: string, named: string): string {
  return `Invalid range ${range} in ${named}: lines count from 1, and the end is not before the start`;
}

const SUFFIX = /^(.+):(\d{1,9})(?:-(\d{1,9}))?$/s;
