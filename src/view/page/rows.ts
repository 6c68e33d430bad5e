import { amount, thousands } from "../../platform/figures.ts";
import { button, fill, h } from "./dom.ts";
import { type Rows, rowsOf } from "./list.ts";
import { chosenAt, codeOf, needsText, openRanges, promptOf, ROW, rowElement, shared } from "./row.ts";
import { nounOf, ORDERS, type View } from "./view.ts";

/** The list of calls: rows stand in the document only while they are seen. */
export interface OpenedRows {
  readonly element: HTMLElement;
  focus(): void;
  /** Lists anew what the view wants to see. */
  refill(): void;
  paint(): void;
  /** Chooses another row. */
  step(by: number): void;
  /** Scrolls to the row that is chosen. */
  reveal(): void;
  /** Scrolls to the first row that was asked at an instant or later. */
  scrollTo(instant: number): void;
}

export function openRows(view: View): OpenedRows {
  const { main, list, tell } = openFrame(view, keydown);
  main.addEventListener("scroll", () => requestAnimationFrame(paint), { passive: true });
  let rows: Rows = new Int32Array(0);
  let rangeOf = openRanges(view);

  function refill(): void {
    const listed = rowsOf(view);
    rows = listed.rows;
    rangeOf = openRanges(view);
    tell(listed.calls, rows.length);
    paint();
  }

  function paint(): void {
    const from = Math.max(0, Math.floor((main.scrollTop - 30) / ROW) - 4);
    const seen = [...rows.slice(from, from + Math.ceil(main.clientHeight / ROW) + 9)];
    const calls = seen.filter((row) => row >= 0);
    const share = shared(calls.map((call) => promptOf(view, call)).filter((prompt) => prompt !== ""));
    fill(list, ...seen.map((row, at) => rowElement(view, row, from + at, rangeOf(row), share)));
    const chosen = codeOf(view.chosen);
    if (Number.isNaN(chosen)) list.removeAttribute("aria-activedescendant");
    else list.setAttribute("aria-activedescendant", `row${chosen}`);
    // A chunk that cannot be read is told of when one of its calls is chosen.
    const missing = calls.filter((call) => needsText(view, call));
    void view.texts.readSome(missing).then((isNew) => isNew && paint());
  }

  function reveal(): void {
    const top = rows.indexOf(codeOf(view.chosen)) * ROW;
    const isSeen = top >= main.scrollTop && top < main.scrollTop + main.clientHeight - 3 * ROW;
    if (top >= 0 && !isSeen) main.scrollTop = Math.max(0, top - main.clientHeight / 2);
    paint();
  }

  function keydown(event: KeyboardEvent): void {
    const by = STEPS[event.key];
    const fold = view.chosen.kind === "batch" ? view.model.folds[view.chosen.index] : undefined;
    if (by !== undefined) step(by);
    else if (fold && TOGGLES.includes(event.key)) view.toggle(fold);
    else return;
    event.preventDefault();
  }

  function step(by: number): void {
    const row = rows[Math.max(0, Math.min(rows.length - 1, rows.indexOf(codeOf(view.chosen)) + by))];
    if (row === undefined) return;
    view.choose(chosenAt(row));
    reveal();
  }

  function scrollTo(instant: number): void {
    const { asked, folds } = view.model;
    const found = rows.findIndex((row) => asked(row < 0 ? (folds[-1 - row]?.from ?? 0) : row) >= instant);
    main.scrollTop = Math.max(0, ((found < 0 ? rows.length : found) - 6) * ROW);
  }

  return { element: main, focus: () => list.focus(), refill, paint, step, reveal, scrollTo };
}

const FIRST = Number.MIN_SAFE_INTEGER;
const LAST = Number.MAX_SAFE_INTEGER;
const STEPS: Readonly<Record<string, number>> = {
  ArrowDown: 1,
  ArrowUp: -1,
  PageDown: 20,
  PageUp: -20,
  Home: FIRST,
  End: LAST,
};
const TOGGLES = ["Enter", " ", "ArrowRight", "ArrowLeft"];

/** The elements around the rows: what is listed, in which order. */
function openFrame(view: View, keydown: (event: KeyboardEvent) => void) {
  const heading = h("h2", { "aria-live": "polite" });
  const order = h("select", { "aria-label": "Order", on: { change: reorder } });
  order.append(...ORDERS.map((name) => h("option", {}, name)));
  const clear = button("show all", () => {
    Object.assign(view, { execs: null, error: 0 });
    view.kinds.clear();
    view.list();
  });
  const on = { keydown: (event: Event) => event instanceof KeyboardEvent && keydown(event) };
  const label = nounOf(view.model) === "job" ? "Jobs" : "Sub-calls";
  const list = h("div", { class: "list", role: "grid", "aria-label": label, tabindex: 0, on });
  const main = h("main", { "aria-label": label }, h("div", { class: "bar" }, heading, clear, order), list);

  function reorder(): void {
    view.order = ORDERS[order.selectedIndex] ?? "as made";
    view.list();
  }

  function tell(calls: number, rows: number): void {
    clear.hidden = view.execs === null && view.kinds.size === 0 && view.error === 0;
    const all = amount(view.model.head.calls, nounOf(view.model));
    fill(heading, calls === view.model.head.calls ? all : `${thousands(calls)} of ${all}`);
    main.style.setProperty("--height", `${Math.max(1, rows) * ROW}px`);
    list.setAttribute("aria-rowcount", String(rows));
  }

  return { main, list, tell };
}
