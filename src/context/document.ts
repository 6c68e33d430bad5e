import type { Converted } from "../documents/growing.ts";

/**
 * A file of the context, with what its conversion told of it. `start` and `end` are UTF-16 units of
 * P.
 */
export interface Document extends Partial<Converted> {
  /** Relative path (a single file: its basename), made unique within the context. */
  readonly id: string;
  /** Absolute path on disk without symlinks, or `-` for text that came from stdin or a caller. */
  readonly path: string;
  readonly start: number;
  readonly end: number;
  /** UTF-16 units: `end - start`. */
  readonly size: number;
  /** The id of the newest text of the same file, if a later append found the file changed. */
  readonly replaced_by?: string;
}

/** Documents by `start`. Those of a large context are read when they are asked for. */
export interface Documents extends Iterable<Document> {
  readonly length: number;
  at(n: number): Document | undefined;
}
