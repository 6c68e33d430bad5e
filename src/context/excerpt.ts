import type { Context, LoadedFile } from "./context.ts";

/** UTF-16 units of a P. */
export type Range = readonly [start: number, end: number];

/** Parts of a context as the documents of another one. */
export interface Excerpt {
  /** In their order in P: `ID` if all of the document is there, else `ID:start-end`, with offsets in the document. */
  readonly files: readonly LoadedFile[];
  /** The places of an excerpt's range in the context that it is of: a range for each part that it touches. */
  toParent(range: Range): readonly Range[];
}

/**
 * The parts of documents that lie in the ranges, as files to load: nothing becomes a JavaScript string. What stands between
 * documents is left out. A range that ends inside a character (a surrogate pair) takes all of it.
 *
 * @param ranges sorted, and apart from each other
 */
export function excerptOf(context: Pick<Context, "text" | "documents">, ranges: readonly Range[]): Excerpt {
  const parts = partsOf(context, ranges.map(wholeCharacters(context.text)));
  let at = 0;
  const placed = parts.map((part) => {
    const separator = `\n===== ${part.id} =====\n`;
    const start = at + separator.length;
    at = start + part.end - part.start;
    return { ...part, separator, at: start };
  });
  const { data, byteAt } = context.text;
  return {
    files: placed.map(({ id, separator, start, end }) => ({
      relative: id,
      path: "-",
      separator: Buffer.from(separator),
      bytes: data.bytes.subarray(byteAt(start), byteAt(end)),
    })),
    toParent: ([start, end]) =>
      placed.flatMap((part) => {
        const shift = part.start - part.at;
        const own = [Math.max(start + shift, part.start), Math.min(end + shift, part.end)] as const;
        return own[0] < own[1] ? [own] : [];
      }),
  };
}

/** True if the ranges leave nothing of P out. */
export function isAll({ length }: Context["text"], ranges: readonly Range[]): boolean {
  const [first] = ranges;
  return ranges.length === 1 && first?.[0] === 0 && first[1] === length;
}

interface Part {
  readonly id: string;
  readonly start: number;
  readonly end: number;
}

function partsOf({ documents }: Pick<Context, "documents">, ranges: readonly Range[]): readonly Part[] {
  let next = 0;
  return documents.flatMap(({ id, start, end }) => {
    while ((ranges[next]?.[1] ?? end) < start) next++;
    const parts: Part[] = [];
    for (let i = next; i < ranges.length && (ranges[i]?.[0] ?? end) <= end; i++) {
      const [from, to] = ranges[i] ?? [end, end];
      const part = { start: Math.max(from, start), end: Math.min(to, end) };
      const isWhole = part.start === start && part.end === end;
      if (isWhole) parts.push({ id, ...part });
      else if (part.start < part.end) parts.push({ id: `${id}:${part.start - start}-${part.end - start}`, ...part });
    }
    return parts;
  });
}

function wholeCharacters({ byteAt, unitAt }: Context["text"]): (range: Range) => Range {
  return ([start, end]) => {
    const last = byteAt(end);
    // The first byte of a character of two units, which always has four bytes.
    return [unitAt(byteAt(start)), unitAt(last) < end ? unitAt(last + 4) : end];
  };
}
