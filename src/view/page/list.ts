import { type Fold, type Model, nanosOf } from "./model.ts";

/** Rows of the list: a call is its number, a fold is -1 less its number. */
export type Rows = Int32Array;
export const foldRow = (fold: number) => -1 - fold;

export const ORDERS = ["as made", "slowest", "dearest"] as const;

/** The calls that are listed, and how. */
export interface Listing {
  /** The first and the last exec; null: all. */
  readonly execs: readonly [first: number, last: number] | null;
  readonly order: (typeof ORDERS)[number];
  /** Calls are not folded. */
  readonly isFlat: boolean;
  passes(call: number): boolean;
  isOpen(fold: Fold): boolean;
}

/** The rows of the list, and how many calls they stand for. A child's calls are below the call that it answers. */
export function rowsOf(model: Model, listing: Listing): { readonly rows: Rows; readonly calls: number } {
  const rows: number[] = [];
  let calls = 0;
  const isFlat = listing.isFlat || listing.order !== "as made";

  function follow(index: number): void {
    const exec = model.head.execs[index];
    const said = new Set<number>();
    let [fold, isShown] = [UNKNOWN, true];
    for (let call = exec?.from ?? 0; call < (exec?.to ?? 0); call++) {
      const isListed = listing.passes(call);
      if (!isFlat && model.foldOf[call] !== fold) {
        // A fold stands in the list once one of its calls does.
        isShown = isListed ? enter(call, said) : around(model, call).every((one) => isOpen(model.folds[one]));
        fold = isListed ? (model.foldOf[call] ?? -1) : UNKNOWN;
      }
      if (isListed) calls++;
      if (isListed && isShown) rows.push(call);
      // Children of a folded call are folded with it, and counted.
      for (const child of model.below.get(call) ?? []) {
        if (isShown) follow(child);
        else calls += countOf(model, listing, child);
      }
    }
  }

  /** Lists the folds around a call, unless they are listed. True if they are open. */
  function enter(call: number, said: Set<number>): boolean {
    let isShown = true;
    for (const index of around(model, call)) {
      const fold = model.folds[index];
      if (isShown && !said.has(index)) rows.push(foldRow(index));
      said.add(index);
      isShown &&= isOpen(fold);
    }
    return isShown;
  }

  const isOpen = (fold: Fold | undefined) => fold !== undefined && listing.isOpen(fold);

  const [first, last] = listing.execs ?? [0, model.head.execs.length - 1];
  const top = model.head.execs[first]?.depth ?? 0;
  for (let index = first; index <= last; index++) if (model.head.execs[index]?.depth === top) follow(index);
  return { rows: ordered(Int32Array.from(rows), model, listing.order), calls };
}

const UNKNOWN = -2;

function countOf(model: Model, listing: Listing, index: number): number {
  const exec = model.head.execs[index];
  let calls = 0;
  for (let call = exec?.from ?? 0; call < (exec?.to ?? 0); call++) {
    if (listing.passes(call)) calls++;
    for (const child of model.below.get(call) ?? []) calls += countOf(model, listing, child);
  }
  return calls;
}

/** The folds that a call lies in, the outermost first. */
export function around({ folds, foldOf }: Pick<Model, "folds" | "foldOf">, call: number): number[] {
  const inner = foldOf[call] ?? -1;
  if (inner < 0) return [];
  const outer = folds[inner]?.inside ?? -1;
  return outer < 0 ? [inner] : [outer, inner];
}

function ordered(rows: Rows, model: Model, order: Listing["order"]): Rows {
  if (order === "as made") return rows;
  const keys = new Float64Array(model.head.calls);
  for (const call of rows) keys[call] = order === "slowest" ? ranFor(model, call) : nanosOf(model.columns, call);
  return rows.sort((one, other) => (keys[other] ?? 0) - (keys[one] ?? 0));
}

/** ms of running time from its sending to its answer; 0 without an answer. */
export function ranFor({ asked, sent, ended, clock }: Model, call: number): number {
  const end = ended[call] ?? Number.POSITIVE_INFINITY;
  if (end === Number.POSITIVE_INFINITY) return 0;
  const began = sent[call] ?? Number.NaN;
  return clock.lived(end) - clock.lived(Number.isNaN(began) ? (asked[call] ?? 0) : began);
}

/** ms of running time from its asking to its sending; null if it was not sent. */
export function waitedFor({ asked, sent, clock }: Model, call: number): number | null {
  const began = sent[call] ?? Number.NaN;
  return Number.isNaN(began) ? null : clock.lived(began) - clock.lived(asked[call] ?? 0);
}
