import { amount, dollars, thousands } from "../../platform/figures.ts";
import { GRADES } from "../format.ts";
import { button, clockTime, fill, h, tint } from "./dom.ts";
import { isOver, isSent, type Model } from "./model.ts";
import { overviewOf, skyline } from "./pictures.ts";
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
