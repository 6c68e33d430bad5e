import { amount, dollars, thousands } from "../../platform/figures.ts";
import { GRADES } from "../format.ts";
import { button, type Child, clockTime, fill, h, lasting, tint } from "./dom.ts";
import { isOver, isSent, type Model } from "./model.ts";
import type { OpenedRows } from "./rows.ts";
import { GRADE_WORDS, LOOKS, nounOf, unreadWords, type View } from "./view.ts";

const STEPS = 1000;

/**
 * The picture of the whole time, its slider, the classes of cost, which
 * filter, and the coverage of P.
 */
export interface OpenedOverview {
  readonly element: HTMLElement;
  draw(): void;
  /** Shows the instant at a share of the time, from 0 to 1. */
  slideTo(share: number): void;
  refresh(): void;
}

export function openOverview(view: View, rows: OpenedRows): OpenedOverview {
  const picture = h("div", { class: "picture", role: "img" });
  const range = { type: "range", min: 0, max: STEPS, value: STEPS, "aria-label": "Time" };
  const slider = h("input", { ...range, on: { input: slide } });
  const line = h("i", { class: "line" });
  const instant = h("div", { class: "key", "aria-live": "polite" });
  const what = nounOf(view.model) === "job" ? "the state of a job" : "what a call cost";
  const classes = h("div", { class: "key", role: "toolbar", "aria-label": `Filter by ${what}` });
  const coverage = openCoverage(view);
  const all = [picture, slider, instant, classes, coverage.element];
  const section = h("section", { class: "over", "aria-label": "Overview" }, ...all);

  function slide(): void {
    const { clock } = view.model;
    const share = slider.valueAsNumber / STEPS;
    view.place = share >= 1 ? null : share * clock.width;
    if (view.place !== null) rows.scrollTo(clock.instant(view.place));
    tell();
    rows.paint();
  }

  function tell(): void {
    const { model, place } = view;
    const when = place === null ? Number.POSITIVE_INFINITY : model.clock.instant(place);
    line.style.setProperty("left", `${place === null ? 100 : (place / model.clock.width) * 100}%`);
    const told = instantFacts(model, when);
    const spans = told.filter((text) => text !== "").map((text) => h("span", {}, text));
    fill(instant, h("b", {}, place === null ? "at the end" : `${clockTime(when)} UTC`), ...spans);
  }

  function refresh(): void {
    const { sums, head } = view.model;
    const kinds = sums.kinds.map(({ calls, nanos }, index) => {
      const [, words, style] = LOOKS[head.kinds[index] ?? "paid"];
      const toggle = () => {
        if (!view.kinds.delete(index)) view.kinds.add(index);
        view.list();
      };
      const figures = h("b", {}, `${thousands(calls)}${nanos > 0 ? ` · ${dollars(nanos / 1e9)}` : ""}`);
      const swatch = h("i", { class: "swatch", css: tint(style) });
      const text = h("span", {}, swatch, ` ${words} `, figures);
      return calls > 0 ? button(text, toggle, { "aria-pressed": view.kinds.has(index) }) : null;
    });
    const resent = `${amount(sums.resent, "call")} open at an interruption, sent again`;
    const isAgain = sums.resent > 0 && head.subject === "session";
    fill(classes, ...kinds, isAgain ? h("span", {}, resent) : null);
  }

  function draw(): void {
    const { label, parts } = overviewOf(view.model);
    picture.setAttribute("aria-label", label);
    fill(picture, ...parts, line);
    coverage.draw();
    tell();
  }

  function slideTo(share: number): void {
    slider.value = String(share * STEPS);
    slide();
  }

  return { element: section, draw, slideTo, refresh };
}

/**
 * The strip of P, and its documents by the grade of coverage that they reached.
 * Without records there is none.
 */
function openCoverage(view: View) {
  const strip = h("div", { class: "strip", role: "img" });
  const grades = h("div", { class: "key" });
  const element = h("div", {}, strip, grades);

  function draw(): void {
    const { coverage: told } = view.model.head;
    element.hidden = told === null;
    if (!told) return;
    strip.setAttribute("aria-label", `Coverage of P: ${told.told}`);
    // A grade lies over those below it, which reach as high or higher.
    const grown = told.strip.map((shares, at) => skyline(GRADES[at] ?? "never", shares, 100));
    fill(strip, ...grown.toReversed());
    const toggles = GRADES.map((grade, index) => {
      const { count = 0 } = told.documents[index] ?? {};
      const swatch = h("i", { class: "swatch", css: tint(grade) });
      const figures = h("span", {}, swatch, ` ${GRADE_WORDS[grade]} `, h("b", {}, thousands(count)));
      return count > 0 ? button(figures, () => view.choose({ kind: "documents", index })) : null;
    });
    const { unread } = told;
    const failed = unread && button(unreadWords(unread.count), () => view.choose({ kind: "documents", index: NEVER }));
    fill(grades, h("span", {}, "documents of P"), ...toggles, failed);
  }

  return { element, draw };
}

/** The grade below which files stand that could not be read. */
const NEVER = GRADES.indexOf("never");

/** Facts of an instant; of some calls the records do not tell yet whether they were sent. */
function instantFacts(model: Model, when: number): string[] {
  const { head, asked, sent, ended } = model;
  let answered = 0;
  let flying = 0;
  let open = 0;
  let nanos = 0;
  for (let call = 0; call < head.calls; call++) {
    // A call that is not over has spent, too, at a time that is not known.
    if (ended(call) <= when) nanos += model.columns.nanos(call);
    if (isOver(model, call) && ended(call) <= when) answered++;
    else if (isSent(model, call) && sent(call) <= when) flying++;
    else if (Number.isNaN(sent(call)) && asked(call) <= when) open++;
  }
  const budget = head.session.budget_usd;
  const share = budget === null ? "" : ` of ${dollars(budget)} (${Math.round(nanos / budget / 1e7)} %)`;
  const isRun = head.subject === "run";
  const exec = head.execs.findLast(({ began, kind, depth }) => depth === 0 && kind !== "ask" && began <= when);
  return [
    `${thousands(answered)} ${isRun ? "over" : "answered"}`,
    `${thousands(flying)} ${isRun ? "begun" : "in flight"}`,
    open > 0 ? `${thousands(open)} ${isRun ? "not begun" : "not sent or not answered"}` : "",
    nanos > 0 ? `${dollars(nanos / 1e9)}${share} spent` : "",
    exec && !isRun ? `exec ${exec.number}: ${exec.label.slice(0, 70)}` : "",
  ];
}

/** Columns of the picture of the whole time, and a label's part of its width, percent. */
const COLUMNS = 600;
const LABEL = 8;
/**
 * The part of the picture in which curves are, as CSS has it: above are failures and
 * words, below answers of the cache.
 */
const CURVES = "30px 0 6px";

/** A shape whose height follows numbers, from the left to the right: the most takes all of it. */
export function skyline(style: string, numbers: readonly number[], most = 1, inset = "0"): HTMLElement {
  const wide = 100 / numbers.length;
  const points = numbers.flatMap((one, at) => [at, at + 1].map((x) => `${x * wide}% ${100 - (100 * one) / most}%`));
  const shape = `polygon(0 100%, ${points.join()}, 100% 100%)`;
  return h("i", { class: "shape", css: { "clip-path": shape, inset, ...tint(style) } });
}

/** A line through shares, as wide as the same shape moved a little. */
function curve(style: string, shares: readonly number[], inset: string): HTMLElement {
  const points = shares.map((share, at) => [`${(100 * at) / (shares.length - 1)}%`, `${100 - 100 * share}%`] as const);
  const there = points.map(([x, y]) => `${x} ${y}`);
  const back = points.toReversed().map(([x, y]) => `calc(${x} + 1.5px) calc(${y} + 1.5px)`);
  return h("i", { class: "shape", css: { "clip-path": `polygon(${[...there, ...back]})`, inset, ...tint(style) } });
}

/**
 * Parts that show how many calls were in flight, what was spent, what failed and what the
 * cache answered, over the time.
 */
function overviewOf(model: Model): { readonly label: string; readonly parts: readonly Child[] } {
  const { sums, head } = model;
  const budget = head.session.budget_usd;
  const spent = `${dollars(sums.nanos / 1e9)}${budget === null ? "" : ` of ${dollars(budget)}`}`;
  const [noun, how] = nounOf(model) === "job" ? ["job", "begun and not over"] : ["call", "in flight"];
  const ofThose = noun === "call" && !sums.isOver ? " of those answered" : "";
  const { flying, nanos, cached, failed } = binsOf(model);
  // A kind stands on those before it.
  const tops: number[][] = [];
  for (const layer of flying) tops.push(layer.map((calls, x) => calls + (tops.at(-1)?.[x] ?? 0)));
  const most = Math.max(1, ...(tops.at(-1) ?? []));
  const layers = tops.map((top, kind) => skyline(LOOKS[head.kinds[kind] ?? "paid"][2], top, most, CURVES));
  let sum = 0;
  const line = nanos.map((more) => {
    sum += more;
    return sum / Math.max(1, sums.nanos);
  });
  return {
    label: `At most ${amount(sums.most, noun)} ${how} at once; ${spent} spent; ${thousands(sums.failed)} failed.`,
    parts: [
      ...layers.toReversed(),
      skyline("lost", failed.map(Number), 1, "0 0 77px"),
      skyline("cached", cached.map(Number), 1, "79px 0 1px"),
      sums.nanos > 0 ? curve("text", line, CURVES) : null,
      ...cutsOf(model),
      h("span", { class: "said note" }, `${noun}s ${how}, at most ${thousands(sums.most)}${ofThose}`),
      sums.nanos > 0 ? h("span", { class: "said end note" }, `line: spent, ${spent}`) : null,
    ],
  };
}

/** Figures of the picture, by its columns. */
interface Bins {
  /** Calls in flight, of each kind. */
  readonly flying: readonly (readonly number[])[];
  /** Dollars × 10⁹. */
  readonly nanos: readonly number[];
  readonly cached: readonly boolean[];
  readonly failed: readonly boolean[];
}

/** Counts a call where it was in flight, and what it cost in the column in which it ended. */
function binsOf(model: Model): Bins {
  const { clock, columns, sent, ended, head } = model;
  const flights = head.kinds.map(openFlights);
  const nanos = zeros();
  const cached = zeros().map(Boolean);
  const failed = zeros().map(Boolean);
  const placeOf = (instant: number) => Math.min(1, clock.at(instant) / clock.width) * COLUMNS;
  for (let call = 0; call < head.calls; call++) {
    const kind = columns.of("kind", call);
    const to = isOver(model, call) ? placeOf(ended(call)) : COLUMNS;
    const seen = Math.min(COLUMNS - 1, Math.floor(to));
    addTo(nanos, seen, columns.nanos(call));
    cached[seen] ||= head.kinds[kind] === "cached";
    failed[seen] ||= columns.of("error", call) > 0;
    if (isSent(model, call)) flights[kind]?.add(placeOf(sent(call)), to);
  }
  return { flying: flights.map((flight) => flight.means()), nanos, cached, failed };
}

const zeros = () => Array.from({ length: COLUMNS }, () => 0);

function addTo(all: number[], column: number, more: number): void {
  if (column < COLUMNS) all[column] = (all[column] ?? 0) + more;
}

/** Counts calls in flight: one counts as the part of a column's time that it took. */
function openFlights() {
  /** By how many calls a column has more than the one before it. */
  const changes = zeros();
  /** Parts of calls that a column has beside whole ones. */
  const parts = zeros();
  return {
    /** Adds a call that was in flight between two places. */
    add(from: number, to: number): void {
      const first = Math.floor(from);
      const last = Math.floor(to);
      addTo(changes, first, 1);
      addTo(changes, last, -1);
      // The first column has too much of it, and the last one lacks its end.
      addTo(parts, first, first - from);
      addTo(parts, last, to - last);
    },
    /** The mean number of calls in each column. */
    means(): number[] {
      let whole = 0;
      return parts.map((part, column) => {
        whole += changes[column] ?? 0;
        return Math.max(0, whole + part);
      });
    },
  };
}

/** A cut is a gap in the picture. It has its length if there is room beside it. */
function cutsOf({ clock }: Model): HTMLElement[] {
  let free = 0;
  return clock.cuts.map(({ at, width, ms }) => {
    const left = (100 * at) / clock.width;
    const label = left >= free ? h("span", {}, `⋯ ${lasting(ms)}`) : null;
    if (label) free = left + LABEL;
    return h("span", { class: "cut note", css: { left: `${left}%`, width: `${(100 * width) / clock.width}%` } }, label);
  });
}
