export interface Tally {
  readonly damages: number;
  /** At least one thing that was read was refused with an RlmError, and all others were as they had been. */
  readonly refused: number;
  /** All that was read was as it had been. */
  readonly unharmed: number;
  /** Something was read that had never been written. */
  readonly wrong: number;
  /** Something failed that is not an RlmError. */
  readonly crashed: number;
  readonly lines: readonly string[];
}

/** How a damaged store was read. */
export type Outcome = "refused" | "unharmed" | "wrong" | "crashed";

/** @param told a line for each that is wrong or crashed */
export function tallyOf(
  done: { readonly flip: number; readonly cut: number },
  counts: Readonly<Record<Outcome, number>>,
  told: readonly string[],
): Tally {
  const { refused, unharmed, wrong, crashed } = counts;
  const summary = `flips ${done.flip} · cuts ${done.cut} · refused ${refused} · unharmed ${unharmed} · wrong ${wrong} · crashed ${crashed}`;
  return { damages: done.flip + done.cut, ...counts, lines: [...told, summary] };
}
