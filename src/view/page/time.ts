/** A stretch of time in which a process ran an exec, ms. */
export type Span = readonly [from: number, to: number];

/** Places of instants in a picture. Time in which nothing ran is cut out, and a cut has a width of its own. */
export interface Clock {
  /** The width of everything, and the ms of it in which something ran. */
  readonly width: number;
  readonly running: number;
  readonly cuts: readonly { readonly at: number; readonly width: number; readonly ms: number }[];
  /** The place of an instant, and the instant of a place. */
  at(instant: number): number;
  instant(place: number): number;
  /** ms in which something ran, until an instant. */
  lived(instant: number): number;
}

/** Shorter stretches without a process are drawn as they are, ms. */
const SHORT = 3000;

interface Part {
  readonly from: number;
  readonly to: number;
  /** Behind it, drawn as long as it lasted: ms. */
  readonly pause: number;
  readonly place: number;
  readonly lived: number;
}

export function clockOf(spans: readonly Span[]): Clock {
  const joined = join(spans);
  const running = joined.reduce((sum, [from, to]) => sum + to - from, 0);
  const gaps = joined.slice(1).map(([from], at) => from - (joined[at]?.[1] ?? from));
  const long = gaps.filter((gap) => gap >= SHORT).length;
  // All cuts together take less than a tenth of the width.
  const cut = Math.max(1, running / Math.max(180, 10 * long));
  const cuts: Clock["cuts"][number][] = [];
  const parts: Part[] = [];
  let [width, lived] = [0, 0];
  for (const [index, [from, to]] of joined.entries()) {
    const gap = gaps[index] ?? 0;
    const pause = gap < SHORT ? gap : 0;
    parts.push({ from, to, pause, place: width, lived });
    width += to - from + pause;
    lived += to - from;
    if (gap < SHORT) continue;
    cuts.push({ at: width, width: cut, ms: gap });
    width += cut;
  }
  return {
    ...{ width: Math.max(1, width), running, cuts },
    at(instant) {
      const part = newest(parts, ({ from }) => from <= instant);
      return part ? part.place + within(instant - part.from, part.to - part.from + part.pause) : 0;
    },
    instant(place) {
      const part = newest(parts, (one) => one.place <= place);
      return part ? part.from + within(place - part.place, part.to - part.from + part.pause) : 0;
    },
    lived(instant) {
      const part = newest(parts, ({ from }) => from <= instant);
      return part ? part.lived + within(instant - part.from, part.to - part.from) : 0;
    },
  };
}

const within = (length: number, most: number) => Math.max(0, Math.min(length, most));

function join(spans: readonly Span[]): Span[] {
  const joined: [number, number][] = [];
  for (const [from, to] of spans.toSorted(([one], [other]) => one - other)) {
    const last = joined.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else joined.push([from, Math.max(from, to)]);
  }
  return joined;
}

/** The last one that fits, of which all before it fit too; the first if none does. */
function newest(parts: readonly Part[], fits: (part: Part) => boolean): Part | undefined {
  let [low, high] = [0, parts.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    const part = parts[middle];
    if (part && fits(part)) low = middle;
    else high = middle - 1;
  }
  return parts[low];
}

/** The most that were between their beginning and their end at once, exactly: at one instant ends come first. */
export function mostAtOnce(began: Float64Array, ended: Float64Array): number {
  const [from, to] = [began.toSorted(), ended.toSorted()];
  let [most, over] = [0, 0];
  for (const [index, instant] of from.entries()) {
    while ((to[over] ?? Number.POSITIVE_INFINITY) <= instant) over++;
    most = Math.max(most, index + 1 - over);
  }
  return most;
}
