import { COLUMNS, type Column, type Head, KINDS, NONE, type TracedExec } from "../format.ts";
import { type Clock, clockOf, mostAtOnce, type Span } from "./time.ts";

export type Columns = Readonly<Record<Column, Uint32Array>>;

/** A trace with what follows from its numbers. Instants are ms since the epoch. */
export interface Model {
  readonly head: Head;
  readonly columns: Columns;
  readonly asked: Float64Array;
  /** NaN for a call that was not sent, or whose record does not tell. */
  readonly sent: Float64Array;
  /** Infinity for a call without an answer. */
  readonly ended: Float64Array;
  readonly clock: Clock;
  /** Calls that are one row while it is folded, and the innermost of each call; -1: none. */
  readonly folds: readonly Fold[];
  readonly foldOf: Int32Array;
  /** Execs of children, by the call that they answer. */
  readonly below: ReadonlyMap<number, readonly number[]>;
  readonly sums: Sums;
}

/** A batch, or batches that follow each other: their calls, and the fold that they lie in. */
export interface Fold {
  readonly from: number;
  readonly to: number;
  readonly exec: number;
  readonly batches: number;
  readonly inside: number;
}

export interface Sums {
  readonly kinds: readonly { readonly calls: number; readonly nanos: number }[];
  readonly nanos: number;
  readonly tokens: number;
  readonly failed: number;
  readonly resent: number;
  /** The most calls in flight at once. */
  readonly most: number;
}

export function emptyColumns(calls: number): Columns {
  const of = () => new Uint32Array(calls);
  return {
    ...{ exec: of(), batch: of(), asked: of(), queue: of(), run: of(), kind: of(), model: of(), error: of() },
    ...{ input: of(), output: of(), cached_in: of(), cache_write: of(), micro: of(), nano: of(), tries: of() },
    ...{ resent: of(), plen: of(), alen: of() },
  };
}

/** Reads a page of columns, as `columnsOf` writes it, to its place. */
export function readPage(columns: Columns, page: Uint8Array, first: number, calls: number): void {
  if (page.length !== COLUMNS.length * 4 * calls) throw new Error("a page of calls is not whole");
  for (const [index, name] of COLUMNS.entries()) {
    const column = columns[name];
    const plane = (byte: number, call: number) => page[(index * 4 + byte) * calls + call] ?? 0;
    for (let call = 0; call < calls; call++) {
      const low = plane(0, call) | (plane(1, call) << 8) | (plane(2, call) << 16);
      column[first + call] = low + plane(3, call) * 2 ** 24;
    }
  }
}

export function modelOf(head: Head, columns: Columns): Model {
  const { calls } = head;
  const [asked, sent, ended] = [new Float64Array(calls), new Float64Array(calls), new Float64Array(calls)];
  for (let call = 0; call < calls; call++) {
    const [queue = NONE, run = NONE] = [columns.queue[call], columns.run[call]];
    const at = (execOf(head, columns, call)?.began ?? 0) + (columns.asked[call] ?? 0);
    asked[call] = at;
    sent[call] = queue === NONE ? Number.NaN : at + queue;
    ended[call] = run === NONE ? Number.POSITIVE_INFINITY : at + (queue === NONE ? 0 : queue) + run;
  }
  const below = new Map<number, number[]>();
  for (const [index, { of }] of head.execs.entries()) {
    if (of !== null) below.set(of, [...(below.get(of) ?? []), index]);
  }
  const clock = clockOf(head.execs.flatMap((exec) => spansOf(exec, head, ended, asked)));
  return {
    head,
    columns,
    asked,
    sent,
    ended,
    clock,
    below,
    ...foldsOf(head, columns),
    sums: sumsOf(columns, sent, ended),
  };
}

export function execOf(head: Head, columns: Columns, call: number): TracedExec | undefined {
  return head.execs[columns.exec[call] ?? -1];
}

export const nanosOf = ({ micro, nano }: Columns, call: number) => (micro[call] ?? 0) * 1000 + (nano[call] ?? 0);

/** True for a call of which a request is out until its answer is there. */
export const isSent = ({ sent, columns }: Pick<Model, "sent" | "columns">, call: number) =>
  !Number.isNaN(sent[call]) && KINDS[columns.kind[call] ?? 0] !== "cached";

/** An ask runs nothing itself. What is not over has run until the last that is known of it, or runs now. */
function spansOf(exec: TracedExec, head: Head, ended: Float64Array, asked: Float64Array): Span[] {
  if (exec.kind === "ask") return [];
  const spans: Span[] = [];
  let from = exec.began;
  for (const { at, gap_ms } of exec.resumes) {
    spans.push([from, at - gap_ms]);
    from = at;
  }
  let to = exec.ended ?? from;
  if (exec.ended === null) {
    for (let call = exec.from; call < exec.to; call++) {
      const end = ended[call] ?? 0;
      to = Math.max(to, Number.isFinite(end) ? end : (asked[call] ?? 0));
    }
    if (head.session.status === "running") to = Math.max(to, head.made_at);
  }
  return [...spans, [from, to]];
}

/** Larger batches are one row, and so are more batches that follow each other. */
const [MOST_CALLS, MOST_BATCHES] = [12, 3];

function foldsOf(head: Head, { exec, batch }: Columns): Pick<Model, "folds" | "foldOf"> {
  const folds: Fold[] = [];
  const foldOf = new Int32Array(head.calls).fill(-1);
  for (const [index, { from, to }] of head.execs.entries()) {
    for (let at = from; at < to; ) {
      const batches: [number, number][] = [];
      while (at < to && batch[at] !== 0) {
        const start = at;
        while (at < to && exec[at] === index && batch[at] === batch[start]) at++;
        batches.push([start, at]);
      }
      const [first, last] = [batches[0], batches.at(-1)];
      if (!first || !last) at++;
      else addFolds(folds, foldOf, batches, { from: first[0], to: last[1], exec: index });
    }
  }
  return { folds, foldOf };
}

function addFolds(
  folds: Fold[],
  foldOf: Int32Array,
  batches: readonly (readonly [number, number])[],
  all: Pick<Fold, "from" | "to" | "exec">,
): void {
  let inside = -1;
  if (batches.length > MOST_BATCHES) {
    inside = folds.push({ ...all, batches: batches.length, inside }) - 1;
    foldOf.fill(inside, all.from, all.to);
  }
  for (const [from, to] of batches) {
    if (to - from > MOST_CALLS) foldOf.fill(folds.push({ from, to, exec: all.exec, batches: 1, inside }) - 1, from, to);
  }
}

function sumsOf(columns: Columns, sent: Float64Array, ended: Float64Array): Sums {
  const kinds = KINDS.map(() => ({ calls: 0, nanos: 0 }));
  let [tokens, failed, resent] = [0, 0, 0];
  for (const [call, number] of columns.kind.entries()) {
    const kind = kinds[number];
    if (kind) {
      kind.calls++;
      kind.nanos += nanosOf(columns, call);
    }
    for (const name of TOKENS) tokens += columns[name][call] ?? 0;
    if (columns.error[call]) failed++;
    if (columns.resent[call]) resent++;
  }
  const flying = columns.kind.keys().filter((call) => isSent({ sent, columns }, call));
  const calls = [...flying];
  const most = mostAtOnce(pick(sent, calls), pick(ended, calls));
  return { kinds, nanos: kinds.reduce((sum, { nanos }) => sum + nanos, 0), tokens, failed, resent, most };
}

const TOKENS = ["input", "output", "cached_in", "cache_write"] as const;

const pick = (all: Float64Array, calls: readonly number[]) => Float64Array.from(calls, (call) => all[call] ?? 0);
/** The part of sorted numbers below which this share of them lies; 0 of none. */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
