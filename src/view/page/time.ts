import { binarySearch } from "../../platform/binary-search.ts";

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
export interface Clock {
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
