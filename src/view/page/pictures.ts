import { amount, dollars, thousands } from "../../platform/figures.ts";
import { GRADES, KINDS, type Kind } from "../format.ts";
import { h, lasting } from "./dom.ts";
import { isSent, type Model, nanosOf, percentile } from "./model.ts";

const HEIGHT = 84;
/** Room above the curves for marks of failures and for words, and below them for answers of the cache: pixels. */
const [ABOVE, BELOW] = [30, 6];
/** Classes whose calls were in flight, from the bottom of the picture. */
const FLYING: readonly Kind[] = ["paid", "kept", "lost", "pending"];

/** Draws how many calls were in flight, what was spent, what failed and what the cache answered, over the time. */
export function drawOverview(canvas: HTMLCanvasElement, model: Model): void {
  const { sums, head } = model;
  const budget = head.session.budget_usd;
  const spent = `${dollars(sums.nanos / 1e9)}${budget === null ? "" : ` of ${dollars(budget)}`}`;
  const most = amount(sums.most, "call");
  const label = `At most ${most} in flight at once; ${spent} spent; ${thousands(sums.failed)} failed.`;
  canvas.setAttribute("aria-label", label);
  const { paint, width } = openCanvas(canvas, HEIGHT);
  const bins = binsOf(model, width);
  const base = HEIGHT - BELOW;
  const room = base - ABOVE;
  drawFlying(paint, bins, base, room);
  paint.fillStyle = colour("--cached");
  for (const [x, calls] of bins.cached.entries()) if (calls > 0) paint.fillRect(x, base + 1, 1, 4);
  paint.fillStyle = colour("--lost");
  for (const [x, calls] of bins.failed.entries()) if (calls > 0) paint.fillRect(x, 0, 1.2, Math.min(9, 3 + calls));
  paint.fillStyle = colour("--line");
  paint.fillRect(0, base, width, 1);
  if (sums.nanos > 0) drawSpent(paint, bins.nanos, { base, room, all: sums.nanos });
  drawCuts(paint, model, width, base);
  paint.fillStyle = colour("--dim");
  paint.textAlign = "left";
  const isOpen = (sums.kinds[KINDS.indexOf("pending")]?.calls ?? 0) > 0;
  paint.fillText(`calls in flight, at most ${thousands(sums.most)}${isOpen ? " of those answered" : ""}`, 4, 22);
  paint.textAlign = "right";
  if (sums.nanos > 0) paint.fillText(`line: spent, ${spent}`, width - 4, 22);
}

interface Bins {
  /** The mean number in flight at each pixel, by the classes of `FLYING`. */
  readonly flying: readonly Float64Array[];
  readonly nanos: Float64Array;
  readonly cached: Uint32Array;
  readonly failed: Uint32Array;
}

/** Counts by pixels. A call that is in flight during a part of a pixel's time counts as that part. */
function binsOf(model: Model, width: number): Bins {
  const { clock, columns, sent, ended, head } = model;
  const [changes, parts] = [FLYING, FLYING].map((kinds) => kinds.map(() => new Float64Array(width + 2)));
  const bins = { nanos: new Float64Array(width + 1), cached: new Uint32Array(width + 1) };
  const failed = new Uint32Array(width + 1);
  const pixel = (instant: number) => Math.min(1, clock.at(instant) / clock.width) * width;
  for (let call = 0; call < head.calls; call++) {
    const kind = KINDS[columns.kind[call] ?? 0] ?? "paid";
    const isOver = Number.isFinite(ended[call]);
    const to = isOver ? pixel(ended[call] ?? 0) : width;
    const last = Math.floor(to);
    bins.nanos[last] = (bins.nanos[last] ?? 0) + nanosOf(columns, call);
    if (kind === "cached") bins.cached[last] = (bins.cached[last] ?? 0) + 1;
    if (columns.error[call]) failed[last] = (failed[last] ?? 0) + 1;
    const at = FLYING.indexOf(kind);
    const [change, part] = [changes?.[at], parts?.[at]];
    if (change && part && isSent(model, call)) spread(change, part, pixel(sent[call] ?? 0), to);
  }
  const flying = FLYING.map((_, at) => {
    let whole = 0;
    return Float64Array.from({ length: width }, (_, x) => {
      whole += changes?.[at]?.[x] ?? 0;
      return Math.max(0, whole + (parts?.[at]?.[x] ?? 0));
    });
  });
  return { flying, ...bins, failed };
}

/** Counts a call as whole in the pixels between its first and its last one, and as a part in these two. */
function spread(changes: Float64Array, parts: Float64Array, from: number, to: number): void {
  const [first, last] = [Math.floor(from), Math.floor(to)];
  const add = (all: Float64Array, x: number, by: number) => {
    all[x] = (all[x] ?? 0) + by;
  };
  if (first === last) {
    add(parts, first, to - from);
    return;
  }
  add(parts, first, first + 1 - from);
  add(parts, last, to - last);
  add(changes, first + 1, 1);
  add(changes, last, -1);
}

function drawFlying(paint: CanvasRenderingContext2D, { flying }: Bins, base: number, room: number): void {
  const [first = new Float64Array()] = flying;
  let most = 1;
  for (const x of first.keys()) most = Math.max(most, sumAt(flying, x));
  const fills = FLYING.map((kind) => patternOf(paint, kind));
  for (const x of first.keys()) {
    let y = base;
    for (const [at, calls] of flying.entries()) {
      const height = ((calls[x] ?? 0) / most) * room;
      paint.fillStyle = fills[at] ?? "";
      paint.fillRect(x, y - height, 1, height);
      y -= height;
    }
  }
}

const sumAt = (all: readonly Float64Array[], x: number) => all.reduce((sum, one) => sum + (one[x] ?? 0), 0);

/** The colour of a class with its pattern, so that classes differ without colours too. */
function patternOf(paint: CanvasRenderingContext2D, kind: Kind): CanvasPattern | string {
  const tile = h("canvas", {});
  tile.width = tile.height = 6;
  const small = tile.getContext("2d");
  if (!small) return colour(`--${kind}`);
  small.globalAlpha = 0.7;
  small.fillStyle = colour(`--${kind}`);
  small.fillRect(0, 0, 6, 6);
  small.globalAlpha = 1;
  small.fillStyle = colour("--card");
  if (kind === "kept") small.fillRect(2, 2, 2, 2);
  if (kind === "lost") for (let at = 0; at < 6; at++) small.fillRect(at, at, 1, 1);
  if (kind === "pending") small.fillRect(0, 0, 6, 2);
  return paint.createPattern(tile, "repeat") ?? colour(`--${kind}`);
}

function drawSpent(
  paint: CanvasRenderingContext2D,
  nanos: Float64Array,
  { base, room, all }: { base: number; room: number; all: number },
): void {
  paint.strokeStyle = colour("--text");
  paint.lineWidth = 1.5;
  paint.beginPath();
  let spent = 0;
  for (const [x, more] of nanos.entries()) {
    spent += more;
    paint.lineTo(x, base - (spent / all) * room);
  }
  paint.stroke();
}

/** A cut is a gap in the picture. It has its length if there is room beside it. */
function drawCuts(paint: CanvasRenderingContext2D, { clock }: Model, width: number, base: number): void {
  let free = 0;
  for (const { at, width: wide, ms } of clock.cuts) {
    const x = (at / clock.width) * width;
    const gap = Math.max(3, (wide / clock.width) * width);
    paint.fillStyle = colour("--bg");
    paint.fillRect(x, ABOVE - 4, gap, base - ABOVE + 5);
    const text = `⋯ ${lasting(ms)}`;
    const length = paint.measureText(text).width;
    if (x < free || x + gap + length > width) continue;
    paint.fillRect(x + gap, ABOVE - 2, length + 5, 12);
    paint.fillStyle = colour("--dim");
    paint.textAlign = "left";
    paint.fillText(text, x + gap + 1, ABOVE + 7);
    free = x + gap + length + 10;
  }
}

/** Draws what of P reached each grade of coverage: the highest at the bottom. */
export function drawCoverage(canvas: HTMLCanvasElement, strip: readonly (readonly number[])[]): void {
  const height = 18;
  const { paint, width } = openCanvas(canvas, height);
  paint.fillStyle = colour("--never");
  paint.fillRect(0, 0, width, height);
  const grades = strip.map((shares, grade) => ({ shares, fill: colour(`--${GRADES[grade]}`) }));
  // A grade lies over those below it, which reach as high or higher.
  for (const { shares, fill } of grades.toReversed()) {
    const wide = width / Math.max(1, shares.length);
    paint.fillStyle = fill;
    for (const [at, share] of shares.entries()) {
      const tall = share === 0 ? 0 : Math.max(1, (share / 100) * height);
      paint.fillRect(at * wide, height - tall, wide + 0.5, tall);
    }
  }
}

/** Draws how often calls ran how long. The longest hundredth is in the last bar. */
export function drawHistogram(canvas: HTMLCanvasElement, sorted: readonly number[]): void {
  const height = 64;
  const { paint, width } = openCanvas(canvas, height);
  const bars = Math.min(60, Math.max(12, sorted.length));
  const longest = Math.max(1, percentile(sorted, 0.99) * 1.1);
  const counts = new Uint32Array(bars);
  for (const ms of sorted) {
    const at = Math.min(bars - 1, Math.floor((ms / longest) * bars));
    counts[at] = (counts[at] ?? 0) + 1;
  }
  const most = Math.max(1, ...counts);
  const room = height - 14;
  paint.fillStyle = colour("--paid");
  for (const [at, count] of counts.entries()) {
    const tall = count === 0 ? 0 : Math.max(1, (count / most) * room);
    paint.fillRect((at * width) / bars, room - tall, width / bars - 1, tall);
  }
  paint.fillStyle = colour("--dim");
  paint.fillText("0", 0, height - 2);
  paint.textAlign = "right";
  paint.fillText(`${lasting(longest)} and more`, width, height - 2);
}

function openCanvas(canvas: HTMLCanvasElement, height: number) {
  const width = Math.max(1, Math.floor(canvas.clientWidth));
  const sharp = devicePixelRatio || 1;
  canvas.width = width * sharp;
  canvas.height = height * sharp;
  canvas.style.setProperty("height", `${height}px`);
  const paint = canvas.getContext("2d");
  if (!paint) throw new Error("this browser draws no pictures");
  paint.scale(sharp, sharp);
  paint.font = "10px system-ui, sans-serif";
  return { paint, width };
}

/** The colour that a name of the style has in the scheme of today. */
function colour(name: string): string {
  PROBE.style.setProperty("color", `var(${name})`);
  if (!PROBE.isConnected) document.body.append(PROBE);
  return getComputedStyle(PROBE).color;
}

const PROBE = h("i", { hidden: true });
