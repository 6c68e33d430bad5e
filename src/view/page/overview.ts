import { amount, dollars, thousands } from "../../platform/figures.ts";
import { GRADES, KINDS } from "../format.ts";
import { button, clockTime, fill, h } from "./dom.ts";
import { drawCoverage, drawOverview } from "./pictures.ts";
import type { OpenedRows } from "./rows.ts";
import { type Actions, at, GRADE_WORDS, type View, WORDS } from "./view.ts";

const STEPS = 1000;

/** The picture of the whole time, its slider, and the classes of cost, which filter. */
export function openOverview(view: View, actions: Actions, rows: OpenedRows) {
  const canvas = h("canvas", { role: "img" });
  const slider = h("input", {
    type: "range",
    min: 0,
    max: STEPS,
    value: STEPS,
    "aria-label": "Time",
    on: { input: slide },
  });
  const line = h("i", { class: "line" });
  const instant = h("div", { class: "key", "aria-live": "polite" });
  const classes = openClasses(view, actions);
  const coverage = openCoverage(view, actions);
  const section = h(
    "section",
    { class: "over", "aria-label": "Overview" },
    h("div", { class: "picture" }, canvas, line),
    slider,
    instant,
    classes.element,
    coverage.element,
  );

  function slide(): void {
    const { clock } = view.model;
    const share = slider.valueAsNumber / STEPS;
    view.place = share >= 1 ? null : share * clock.width;
    if (view.place !== null) rows.scrollTo(clock.instant(view.place));
    tell();
    rows.paint();
  }

  /** Tells what was true at the slider's instant. */
  function tell(): void {
    const { model, place } = view;
    const when = place === null ? Number.MAX_SAFE_INTEGER : model.clock.instant(place);
    const { answered, flying, open, nanos, exec } = at(model, when);
    const budget = model.head.session.budget_usd;
    const share = budget === null ? "" : ` of ${dollars(budget)} (${Math.round(nanos / budget / 1e7)} %)`;
    line.style.setProperty("left", `${place === null ? 100 : (place / model.clock.width) * 100}%`);
    fill(
      instant,
      h("b", {}, place === null ? "at the end" : `${clockTime(when)} UTC`),
      h("span", {}, `${thousands(answered)} answered`),
      h("span", {}, `${thousands(flying)} in flight`),
      open > 0 ? h("span", {}, `${thousands(open)} not sent or not answered`) : null,
      nanos > 0 ? h("span", {}, `${dollars(nanos / 1e9)}${share} spent`) : null,
      exec && h("span", {}, `exec ${exec.number}: ${exec.label.slice(0, 70)}`),
    );
  }

  function draw(): void {
    drawOverview(canvas, view.model);
    coverage.draw();
    tell();
  }

  function slideTo(share: number): void {
    slider.value = String(share * STEPS);
    slide();
  }

  return { element: section, draw, slideTo, refresh: classes.refresh };
}

/** The classes of cost with their calls and dollars: each filters the list. */
function openClasses(view: View, actions: Actions) {
  const element = h("div", { class: "key", role: "toolbar", "aria-label": "Filter by what a call cost" });

  function toggle(isPressed: boolean, change: () => void, ...parts: (Node | string)[]): HTMLElement {
    const click = () => {
      change();
      actions.list();
    };
    return button(h("span", {}, ...parts), null, click, { "aria-pressed": isPressed });
  }

  function kindToggle(index: number): HTMLElement | null {
    const { calls = 0, nanos = 0 } = view.model.sums.kinds[index] ?? {};
    const kind = KINDS[index];
    if (calls === 0 || !kind) return null;
    const change = () => {
      if (!view.kinds.delete(index)) view.kinds.add(index);
    };
    const figures = h("b", {}, `${thousands(calls)}${nanos > 0 ? ` · ${dollars(nanos / 1e9)}` : ""}`);
    return toggle(view.kinds.has(index), change, h("i", { class: `swatch ${kind}` }), ` ${WORDS[kind]} `, figures);
  }

  function refresh(): void {
    const { failed, resent, kinds } = view.model.sums;
    const lost = kinds[KINDS.indexOf("lost")]?.calls ?? 0;
    const change = () => {
      view.failed = !view.failed;
    };
    fill(
      element,
      ...KINDS.map((_, index) => kindToggle(index)),
      failed > lost ? toggle(view.failed, change, "failed ", h("b", {}, thousands(failed))) : null,
      resent > 0 ? h("span", {}, `${amount(resent, "call")} in flight at an interruption, sent again`) : null,
    );
  }

  return { element, refresh };
}

/** The strip of P, and its documents by the grade of coverage that they reached. Without records there is none. */
function openCoverage(view: View, actions: Actions) {
  const canvas = h("canvas", { role: "img" });
  const grades = h("div", { class: "key" });
  const element = h("div", {}, canvas, grades);

  function draw(): void {
    const { coverage } = view.model.head;
    element.hidden = coverage === null;
    if (!coverage) return;
    canvas.setAttribute("aria-label", `Coverage of P: ${coverage.told}`);
    drawCoverage(canvas, coverage.strip);
    const toggles = GRADES.map((grade, index) => {
      const { count = 0 } = coverage.documents[index] ?? {};
      const choose = () => actions.choose({ kind: "documents", index });
      const figures = h(
        "span",
        {},
        h("i", { class: `swatch ${grade}` }),
        ` ${GRADE_WORDS[grade]} `,
        h("b", {}, thousands(count)),
      );
      return count === 0 ? null : button(figures, null, choose);
    });
    fill(grades, h("span", {}, "documents of P"), ...toggles);
  }

  return { element, draw };
}
