/** The place of a part of a document: the offset of its first UTF-16 unit in the document's text, its label (`p.12`, `slide 3`, a sheet's or table's name, `cell 7`, `body`), and for rows the number of the first row. */
export type Place = readonly [unit: number, label: string, firstRow?: number];
/** The loss of labels behind the first 100,000 places of a context. */
export const UNPLACED = "place over 100,000";
/** A part of a document that did not become text. */
export interface Loss {
  readonly kind: string;
  readonly count: number;
  readonly where: readonly (string | number)[];
}
/** The original of a document that was converted. `reader` is e.g. `pdf/1 unpdf 1.8.1`. */
export interface Original {
  readonly sha256: string;
  readonly bytes: number;
  readonly kind: string;
  readonly reader: string;
}
/** Facts about a document that became text when it was loaded. */
export interface Converted {
  readonly original: Original;
  /** By their units. */
  readonly places: readonly Place[];
  readonly lost: readonly Loss[];
}
