import { binarySearch } from "../../platform/binary-search.ts";
import { compact, dollars } from "../../platform/figures.ts";
import { COLUMNS, type Column, type Head, type Kind, NONE, PAGE_CALLS, type TracedExec } from "../format.ts";

/** A trace with what follows from its numbers. Instants are ms since the epoch. */
export interface Model {
  readonly head: Head;
  readonly columns: Columns;
  readonly asked: Instants;
  /** NaN for a call that was not sent, or whose record does not tell. */
  readonly sent: Instants;
  /** Infinity for a call without an answer. */
  readonly ended: Instants;
  readonly clock: Clock;
  /** Calls that are one row while it is folded, and the innermost fold of each call; -1: none. */
  readonly folds: readonly Fold[];
  readonly foldOf: Int32Array;
  /**
   * All of them in the order of the list: those of a child stand behind the call that it answers.
   */
  readonly order: Int32Array;
  readonly sums: Sums & { readonly most: number };
}

type Instants = (call: number) => number;

/** Calls, from the first, and before one. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** A batch, or batches that follow each other, and the fold that they lie in; -1: none. */
export interface Fold extends Stretch {
  readonly index: number;
  readonly exec: number;
  readonly batches: number;
  readonly inside: number;
}

const INDEX: Readonly<Record<string, number>> = Object.fromEntries(COLUMNS.map((name, at) => [name, at]));

/** The numbers of calls. */
interface Columns {
  of(name: Column, call: number): number;
  /** Dollars × 10⁹ of a call. */
  nanos(call: number): number;
  /** The numbers of a call by their names; null where there is none. */
  row(call: number): object;
  /** Reads a page of columns, as `columnsOf` writes it, to its place. */
  read(page: Uint8Array, first: number): void;
}

export function openColumns(calls: number): Columns {
  const data = new Uint32Array(COLUMNS.length * calls);
  const of = (name: Column, call: number) => data[(INDEX[name] ?? 0) * calls + call] ?? 0;
  return {
    of,
    nanos: (call) => of("micro", call) * 1000 + of("nano", call),
    row: (call) => Object.fromEntries(COLUMNS.map((name) => [name, of(name, call) === NONE ? null : of(name, call)])),
    read(page, first) {
      const count = Math.min(PAGE_CALLS, calls - first);
      if (page.length !== COLUMNS.length * 4 * count) throw new Error("a page of calls is not whole");
      for (const column of COLUMNS.keys()) {
        const plane = (byte: number, at: number) => (page[(column * 4 + byte) * count + at] ?? 0) * 2 ** (8 * byte);
        for (let at = 0; at < count; at++) {
          data[column * calls + first + at] = plane(0, at) + plane(1, at) + plane(2, at) + plane(3, at);
        }
      }
    },
  };
}

export function modelOf(head: Head, columns: Columns): Model {
  const { of } = columns;
  const asked = (call: number) => (head.execs[of("exec", call)]?.began ?? 0) + of("asked", call);
  const sent = (call: number) => (of("queue", call) === NONE ? Number.NaN : asked(call) + of("queue", call));
  const ended = (call: number) =>
    of("run", call) === NONE ? Number.POSITIVE_INFINITY : (sent(call) || asked(call)) + of("run", call);
  const times = { asked, sent, ended };
  const clock = clockOf(head.execs.flatMap((exec) => spansOf(exec, head, times)));
  const model = { head, columns, ...times, clock, ...foldsOf(head, columns), order: orderOf(head) };
  const flying = model.order.filter((call) => isSent(model, call));
  const most = mostAtOnce(Float64Array.from(flying, sent), Float64Array.from(flying, ended));
  return { ...model, sums: { ...sumsOf(model, { from: 0, to: head.calls }), most } };
}

export const execOf = ({ head, columns }: Pick<Model, "head" | "columns">, call: number): TracedExec | undefined =>
  head.execs[columns.of("exec", call)];

export const kindOf = ({ head, columns }: Pick<Model, "head" | "columns">, call: number): Kind =>
  head.kinds[columns.of("kind", call)] ?? "paid";

/** True for a call of which a request is out until its answer is there. */
export const isSent = (model: Pick<Model, "head" | "columns" | "sent">, call: number) =>
  !Number.isNaN(model.sent(call)) && kindOf(model, call) !== "cached";

export const isOver = ({ ended }: Pick<Model, "ended">, call: number) => Number.isFinite(ended(call));

/** ms of running time from its sending to its answer; 0 without an answer. */
export function ranFor({ asked, sent, ended, clock }: Model, call: number): number {
  if (!Number.isFinite(ended(call))) return 0;
  return clock.lived(ended(call)) - clock.lived(Number.isNaN(sent(call)) ? asked(call) : sent(call));
}

/** ms of running time from its asking to its sending; NaN if it was not sent. */
export const waitedFor = ({ asked, sent, clock }: Model, call: number) =>
  Number.isNaN(sent(call)) ? Number.NaN : clock.lived(sent(call)) - clock.lived(asked(call));

type Times = Pick<Model, "asked" | "sent" | "ended">;

/**
 * An ask runs nothing itself, and a run its jobs. What is not over has run until the last
 * that is known of it, or runs now.
 */
function spansOf(exec: TracedExec, head: Head, { asked, sent, ended }: Times): Span[] {
  if (exec.kind === "ask") return [];
  const calls = () => Array.from({ length: exec.to - exec.from }, (_, at) => exec.from + at);
  const now = head.session.status === "running" ? head.made_at : 0;
  const until = (call: number, began: number) => (Number.isFinite(ended(call)) ? ended(call) : Math.max(began, now));
  if (exec.kind === "run") {
    const begun = calls().filter((job) => !Number.isNaN(sent(job)));
    return begun.map((job) => [sent(job), until(job, sent(job))]);
  }
  const spans: Span[] = [];
  let from = exec.began;
  for (const { at, gap_ms } of exec.resumes) {
    spans.push([from, at - gap_ms]);
    from = at;
  }
  const last = () => calls().reduce((to, call) => Math.max(to, until(call, asked(call))), Math.max(from, now));
  return [...spans, [from, exec.ended ?? last()]];
}

/** Larger batches are one row, and so are more batches that follow each other. */
const MOST_CALLS = 12;
const MOST_BATCHES = 3;

function foldsOf(head: Head, { of }: Columns): Pick<Model, "folds" | "foldOf"> {
  const folds: Fold[] = [];
  const foldOf = new Int32Array(head.calls).fill(-1);
  const add = (fold: Omit<Fold, "index">) => {
    const index = folds.length;
    folds.push({ ...fold, index });
    foldOf.fill(index, fold.from, fold.to);
    return index;
  };
  for (const [exec, { from: start, to: end }] of head.execs.entries()) {
    for (let at = start; at < end; ) {
      const first = at;
      const batches: Stretch[] = [];
      for (let to = at; at < end && of("batch", at) !== 0; at = to) {
        while (to < end && of("batch", to) === of("batch", at)) to++;
        batches.push({ from: at, to });
      }
      const isMany = batches.length > MOST_BATCHES;
      const inside = isMany ? add({ from: first, to: at, exec, batches: batches.length, inside: -1 }) : -1;
      for (const one of batches) if (one.to - one.from > MOST_CALLS) add({ ...one, exec, batches: 1, inside });
      if (batches.length === 0) at++;
    }
  }
  return { folds, foldOf };
}

function orderOf({ execs, calls }: Head): Int32Array {
  const below = Map.groupBy(execs, ({ of }) => of);
  const order: number[] = [];
  const follow = (of: number | null): void => {
    for (const { from, to } of below.get(of) ?? []) {
      for (let call = from; call < to; call++) {
        order.push(call);
        follow(call);
      }
    }
  };
  follow(null);
  return Int32Array.from(order.slice(0, calls));
}

const SUMMED = ["input", "output", "cached_in", "cache_write", "estimated", "tries", "calls"] as const;

/** The sums of some calls. */
export interface Sums extends Readonly<Record<(typeof SUMMED)[number], number>> {
  /** Counts of each kind. */
  readonly kinds: readonly { readonly calls: number; readonly nanos: number }[];
  /** Dollars × 10⁹. */
  readonly nanos: number;
  readonly failed: number;
  readonly resent: number;
  /** The end of the newest answer. */
  readonly ended: number;
  readonly isOver: boolean;
}

type Summed = Pick<Model, "head" | "columns" | "ended">;

export function sumsOf(model: Summed, { from, to }: Stretch): Sums {
  return sumsOver(model, callsFrom(from, to));
}

function* callsFrom(from: number, to: number): Generator<number> {
  for (let call = from; call < to; call++) yield call;
}

export function sumsOver(model: Summed, calls: Iterable<number>): Sums {
  const kinds = model.head.kinds.map(() => ({ calls: 0, nanos: 0 }));
  const sums = { input: 0, output: 0, cached_in: 0, cache_write: 0, estimated: 0, tries: 0, calls: 0 };
  let nanos = 0;
  let failed = 0;
  let resent = 0;
  let ended = 0;
  let open = 0;
  const { of } = model.columns;
  for (const call of calls) {
    const kind = kinds[of("kind", call)];
    const cost = model.columns.nanos(call);
    if (kind) Object.assign(kind, { calls: kind.calls + 1, nanos: kind.nanos + cost });
    nanos += cost;
    for (const name of SUMMED) sums[name] += of(name, call);
    if (of("error", call) > 0) failed++;
    if (of("resent", call) > 0) resent++;
    if (isOver(model, call)) ended = Math.max(ended, model.ended(call));
    else open++;
  }
  return { kinds, nanos, ...sums, failed, resent, ended, isOver: open === 0 };
}

/** All tokens, in short: `48k`, or `~48k` if some of them are estimated. */
export function tokensOf({ input, output, cached_in, cache_write, estimated }: Sums): string {
  return `${estimated > 0 ? "~" : ""}${compact(input + output + cached_in + cache_write)}`;
}

/** `48k tokens · $0.021` */
export function tokensIn(sums: Sums): string {
  return `${tokensOf(sums)} tokens · ${sums.nanos > 0 ? dollars(sums.nanos / 1e9) : "no price is known"}`;
}

const known = new WeakMap<Fold, Sums>();

/** The sums of a fold, which are counted once. */
export function foldSums(fold: Fold, model: Model): Sums {
  const sums = known.get(fold) ?? sumsOf(model, fold);
  known.set(fold, sums);
  return sums;
}

/** The part of sorted numbers below which this share of them lies; 0 of none. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** The folds that a call lies in, the outermost first. */
export function around({ folds, foldOf }: Model, call: number): Fold[] {
  const inner = folds[foldOf[call] ?? -1];
  return [folds[inner?.inside ?? -1], inner].filter((fold) => fold !== undefined);
}

/** A stretch of time in which a process ran an exec, ms. */
export type Span = readonly [from: number, to: number];

/**
 * A stretch in which nothing ran: its place and its width in the picture,
 * and the time that it stands for.
 */
interface Cut {
  readonly at: number;
  readonly width: number;
  readonly ms: number;
}

/**
 * Places of instants in a picture. Time in which nothing ran is cut out,
 * and a cut has a width of its own.
 */
interface Clock {
  readonly width: number;
  /** ms in which something ran. */
  readonly running: number;
  readonly cuts: readonly Cut[];
  /** The place of an instant. */
  at(instant: number): number;
  /** The instant of a place. */
  instant(place: number): number;
  /** ms in which something ran until an instant. */
  lived(instant: number): number;
}

/** Shorter stretches without a process are drawn as they are, ms. */
const SHORT = 3000;

export function clockOf(spans: readonly Span[]): Clock {
  const joined = join(spans);
  const gapAfter = (index: number) => (joined[index + 1]?.[0] ?? 0) - (joined[index]?.[1] ?? 0);
  const running = joined.reduce((sum, [from, to]) => sum + to - from, 0);
  const long = joined.filter((_, index) => gapAfter(index) >= SHORT).length;
  // All cuts together take less than a tenth of the width.
  const cut = Math.max(1, running / Math.max(180, 10 * long));
  const cuts: Cut[] = [];
  const instants: number[] = [];
  const places: number[] = [];
  const lives: number[] = [];
  let width = 0;
  let lived = 0;
  for (const [index, [from, to]] of joined.entries()) {
    instants.push(from, to);
    places.push(width, width + to - from);
    lives.push(lived, lived + to - from);
    width += to - from;
    lived += to - from;
    const gap = Math.max(0, gapAfter(index));
    if (gap >= SHORT) cuts.push({ at: width, width: cut, ms: gap });
    width += gap >= SHORT ? cut : gap;
  }
  return {
    width: Math.max(1, width),
    running,
    cuts,
    at: (instant) => between(instants, places, instant),
    instant: (place) => between(places, instants, place),
    lived: (instant) => between(instants, lives, instant),
  };
}

/**
 * The value of a line through points, of which the keys are in order;
 * beyond them that of the last one.
 */
function between(keys: readonly number[], values: readonly number[], key: number): number {
  const above = binarySearch(keys.length, (at) => (keys[at] ?? 0) > key);
  const from = keys[above - 1] ?? keys[above] ?? 0;
  const to = keys[above] ?? from;
  const low = values[above - 1] ?? values[above] ?? 0;
  const high = values[above] ?? low;
  return to > from ? low + ((key - from) / (to - from)) * (high - low) : low;
}

function join(spans: readonly Span[]): Span[] {
  const joined: [number, number][] = [];
  for (const [from, to] of spans.toSorted(([one], [other]) => one - other)) {
    const last = joined.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else joined.push([from, Math.max(from, to)]);
  }
  return joined;
}

/**
 * The most that were between their beginning and their end at once, exactly:
 * at one instant ends come first.
 */
export function mostAtOnce(began: Float64Array, ended: Float64Array): number {
  const from = began.toSorted();
  const to = ended.toSorted();
  let most = 0;
  let over = 0;
  for (const [index, instant] of from.entries()) {
    while ((to[over] ?? Number.POSITIVE_INFINITY) <= instant) over++;
    most = Math.max(most, index + 1 - over);
  }
  return most;
}
