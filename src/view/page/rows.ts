import { amount, thousands } from "../../platform/figures.ts";
import { button, fill, h } from "./dom.ts";
import { ORDERS, type Rows, rowsOf } from "./list.ts";
import type { Fold } from "./model.ts";
import { codeOf, needsText, openRanges, promptOf, ROW, rowElement, shared } from "./row.ts";
import { type Actions, foldKey, passes, type View } from "./view.ts";

/** The list of calls: rows stand in the document only while they are seen. */
export function openRows(view: View, actions: Actions) {
  const { main, list, tell } = openFrame(view, actions, keydown);
  main.addEventListener("scroll", () => requestAnimationFrame(paint), { passive: true });
  let rows: Rows = new Int32Array(0);
  let ranges = openRanges(view);

  function refill(): void {
    const isFlat = view.query !== "" || view.failed || view.error > 0;
    const isOpen = (fold: Fold) => view.open.has(foldKey(fold, view.model));
    const { execs, order } = view;
    const listed = rowsOf(view.model, { execs, order, isFlat, isOpen, passes: (call) => passes(view, call) });
    rows = listed.rows;
    ranges = openRanges(view);
    tell(listed.calls, rows.length);
    paint();
  }

  function paint(): void {
    const from = Math.max(0, Math.floor((main.scrollTop - 30) / ROW) - 4);
    const seen = [...rows.slice(from, from + Math.ceil(main.clientHeight / ROW) + 9)];
    const calls = seen.filter((row) => row >= 0);
    const share = shared(calls.map((call) => promptOf(view, call)).filter((prompt) => prompt !== ""));
    const on = { choose, toggle };
    fill(list, ...seen.map((row, at) => rowElement(view, row, { at: from + at, ranges, share, on })));
    const chosen = codeOf(view.chosen);
    if (Number.isNaN(chosen)) list.removeAttribute("aria-activedescendant");
    else list.setAttribute("aria-activedescendant", `row${chosen}`);
    // A chunk that cannot be read is told of when one of its calls is chosen.
    const missing = new Set(calls.filter((call) => needsText(view, call)).map(view.texts.chunkOf));
    void view.texts.readSome(missing).then((isNew) => isNew && paint());
  }

  const choose = (row: number) =>
    actions.choose(row < 0 ? { kind: "fold", index: -1 - row } : { kind: "call", index: row });

  function toggle(fold: Fold): void {
    const key = foldKey(fold, view.model);
    if (!view.open.delete(key)) view.open.add(key);
    refill();
  }

  /** Scrolls the chosen row into sight. */
  function reveal(): void {
    const top = rows.indexOf(codeOf(view.chosen)) * ROW;
    const isSeen = top >= main.scrollTop && top < main.scrollTop + main.clientHeight - 3 * ROW;
    if (top >= 0 && !isSeen) main.scrollTop = Math.max(0, top - main.clientHeight / 2);
    paint();
  }

  function keydown(event: KeyboardEvent): void {
    const by = STEPS[event.key];
    const fold = view.chosen.kind === "fold" ? view.model.folds[view.chosen.index] : undefined;
    if (by === undefined && !(fold && TOGGLES.includes(event.key))) return;
    event.preventDefault();
    if (by !== undefined) step(by);
    else if (fold) toggle(fold);
  }

  /** Chooses the row so many below the chosen one. */
  function step(by: number): void {
    const row = rows[Math.max(0, Math.min(rows.length - 1, rows.indexOf(codeOf(view.chosen)) + by))];
    if (row === undefined) return;
    choose(row);
    reveal();
  }

  /** Scrolls to the first row that was asked at an instant or later. */
  function scrollTo(instant: number): void {
    const { asked, folds } = view.model;
    const found = rows.findIndex((row) => (asked[row < 0 ? (folds[-1 - row]?.from ?? 0) : row] ?? 0) >= instant);
    main.scrollTop = Math.max(0, ((found < 0 ? rows.length : found) - 6) * ROW);
  }

  return { element: main, focus: () => list.focus(), refill, paint, step, reveal, scrollTo, toggle };
}

export type OpenedRows = ReturnType<typeof openRows>;

const [FIRST, LAST] = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];
const STEPS: Readonly<Record<string, number>> = {
  ...{ ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: FIRST, End: LAST },
};
const TOGGLES = ["Enter", " ", "ArrowRight", "ArrowLeft"];

/** The elements around the rows: what is listed, in which order. */
function openFrame(view: View, actions: Actions, keydown: (event: KeyboardEvent) => void) {
  const heading = h("h2", { "aria-live": "polite" });
  const order = h("select", { "aria-label": "Order", on: { change: reorder } });
  order.append(...ORDERS.map((name) => h("option", {}, name)));
  const clear = button("show all", null, () => {
    Object.assign(view, { execs: null, failed: false, error: 0 });
    view.kinds.clear();
    actions.list();
  });
  const on = { keydown: (event: Event) => event instanceof KeyboardEvent && keydown(event) };
  const list = h("div", { class: "list", role: "grid", "aria-label": "Sub-calls", tabindex: 0, on });
  const main = h("main", { "aria-label": "Sub-calls" }, h("div", { class: "bar" }, heading, clear, order), list);

  function reorder(): void {
    view.order = ORDERS[order.selectedIndex] ?? "as made";
    actions.list();
  }

  function tell(calls: number, rows: number): void {
    const all = view.model.head.calls;
    clear.hidden = view.execs === null && view.kinds.size === 0 && !view.failed && view.error === 0;
    fill(heading, calls === all ? amount(all, "sub-call") : `${thousands(calls)} of ${amount(all, "sub-call")}`);
    main.style.setProperty("--height", `${Math.max(1, rows) * ROW}px`);
    list.setAttribute("aria-rowcount", String(rows));
  }

  return { main, list, tell };
}
