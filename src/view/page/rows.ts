import { amount, dollars, priced, thousands } from "../../platform/figures.ts";
import { inLine } from "../../platform/visible.ts";
import { button, fill, h, lasting, tint } from "./dom.ts";
import { type Rows, rowsOf } from "./list.ts";
import { execOf, type Fold, foldSums, isOver, kindOf, ranFor, type Stretch } from "./model.ts";
import { type Chosen, foldKey, LOOKS, nounOf, ORDERS, type View } from "./view.ts";

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

type Range = readonly [from: number, to: number];

/** Height of a row, pixels. */
const ROW = 24;

/** The words of a row, and its bars by the colours of the style. */
interface Line {
  readonly number: string;
  readonly label: string;
  readonly bars: readonly (readonly [style: string, from: number, to: number])[];
  readonly cost: string;
  readonly style: string;
  readonly time: string;
}

/**
 * The row at a place of the list, with its bars in a range.
 * @param share the beginning of prompts that is left out
 */
function rowElement(view: View, row: number, at: number, [start, end]: Range, share: string): HTMLElement {
  const { model, place, chosen, open } = view;
  const fold = row < 0 ? model.folds[-1 - row] : undefined;
  const line = fold ? foldLine(view, fold) : callLine(view, row, share);
  const { depth = 0 } = (fold ? null : execOf(model, row)) ?? {};
  const isPale = place !== null && model.clock.at(model.asked(fold ? fold.from : row)) > place;
  const percent = (from: number) => `${Math.max(0, Math.min(100, ((from - start) / (end - start)) * 100))}%`;
  const bars = line.bars.map(([style, from, to]) => {
    const css = {
      left: percent(from),
      width: percent(start + Math.max(0, to - Math.max(from, start))),
      ...tint(style),
    };
    return h("i", { class: style === "dim" ? "wait" : null, css });
  });
  const cell = (name: string, css: Readonly<Record<string, string>>, ...children: (Node | string)[]) =>
    h("span", { class: name, role: "gridcell", css }, ...children);
  return h(
    "div",
    {
      class: `call${fold ? " fold" : ""}${isPale ? " pale" : ""}`,
      id: `row${row}`,
      role: "row",
      "aria-rowindex": at + 1,
      "aria-selected": row === codeOf(chosen),
      css: { top: `${at * ROW}px` },
      "aria-expanded": fold ? open.has(foldKey(fold, model)) : null,
      on: { click: () => view.choose(chosenAt(row)), dblclick: () => fold && view.toggle(fold) },
    },
    cell("n", {}, line.number),
    cell("", { "padding-left": `${depth * 14}px` }, `${depth > 0 ? "↳ " : ""}${line.label}`),
    cell("track", {}, ...bars),
    cell("n word", tint(line.style), line.cost),
    cell("n", {}, line.time),
  );
}

/** A call with the time that it waited, and the time that it ran. */
function callLine(view: View, call: number, share: string): Line {
  const { model } = view;
  const { clock, asked, sent, ended, columns, head } = model;
  const kind = kindOf(model, call);
  const [glyph, , style] = LOOKS[kind];
  const [price = kind] = kind === "paid" ? priced(columns.nanos(call) / 1e9) : [];
  const from = clock.at(asked(call));
  const start = Number.isNaN(sent(call)) ? from : clock.at(sent(call));
  const end = isOver(model, call) ? clock.at(ended(call)) : clock.width;
  return {
    number: thousands(call + 1),
    label: head.subject === "run" ? jobLabel(view, call) : callLabel(view, call, share),
    bars: [
      ["dim", from, start],
      [style, start, end],
    ],
    cost: `${glyph} ${price}`,
    style,
    time: isOver(model, call) ? lasting(ranFor(model, call)) : "…",
  };
}

/** A fold with counts, and the classes of its calls as shares of its time. */
function foldLine({ model, open }: View, fold: Fold): Line {
  const { clock, asked, head } = model;
  const { kinds, failed, nanos, ended, isOver } = foldSums(fold, model);
  const calls = fold.to - fold.from;
  const from = clock.at(asked(fold.from));
  const to = clock.at(ended);
  let left = from;
  const bars = kinds.map((kind, index) => {
    left += ((to - from) * kind.calls) / calls;
    return [LOOKS[head.kinds[index] ?? "paid"][2], left - ((to - from) * kind.calls) / calls, left] as const;
  });
  const what = fold.batches > 1 ? `${amount(fold.batches, "batch", "batches")}, ` : "batch of ";
  return {
    number: `${open.has(foldKey(fold, model)) ? "▾" : "▸"} ${thousands(calls)}`,
    label: `${what}${amount(calls, "call")}${failed > 0 ? ` · ${thousands(failed)} failed` : ""}`,
    bars: bars.filter((_, index) => (kinds[index]?.calls ?? 0) > 0),
    cost: nanos > 0 ? dollars(nanos / 1e9) : "–",
    style: "dim",
    time: isOver ? lasting(clock.lived(ended) - clock.lived(asked(fold.from))) : "…",
  };
}

/** The prompt of a call, or what the model said if it is the request of a turn. */
function callLabel(view: View, call: number, share: string): string {
  const { model } = view;
  const exec = execOf(model, call);
  if (exec?.turn) return `turn ${exec.turn}${exec.label ? `: ${exec.label}` : ""}`;
  const named = namedBy(model, call);
  if (model.head.texts === "none") return `${named}${amount(model.columns.of("plen", call), "character")}`;
  const prompt = promptOf(view, call);
  if (share !== "" && prompt.startsWith(share)) return `${named}… ${prompt.slice(share.length)}`;
  return `${named}${prompt === "" && !needsText(view, call) ? "(empty)" : prompt}`;
}

/** `Verify: a.ts · ` of a call with a phase and a label. */
function namedBy({ columns, head }: View["model"], call: number): string {
  const phase = head.phases[columns.of("phase", call)] ?? "";
  const label = head.labels[columns.of("label", call)] ?? "";
  const named = [phase, label].filter((name) => name !== "").join(": ");
  return named === "" ? "" : `${named} · `;
}

/** A job's id, or its number, and how it stands. */
function jobLabel(view: View, job: number): string {
  const { columns, head } = view.model;
  const calls = columns.of("calls", job);
  const tries = columns.of("tries", job);
  const parts = [
    promptOf(view, job) || `job ${thousands(columns.of("number", job) + 1)}`,
    ...[head.errors[columns.of("error", job)], head.errors[columns.of("why", job)]],
    ...priced(columns.nanos(job) / 1e9),
    calls > 0 ? amount(calls, "call") : "",
    tries > 0 ? amount(tries, "failed try", "failed tries") : "",
  ];
  return parts.filter(Boolean).join(" · ");
}

const needsText = ({ model, texts }: View, call: number) => model.head.texts !== "none" && texts.peek(call) === null;

/** The beginning of a prompt in one line, as far as it is at hand. */
function promptOf({ model, texts }: View, call: number): string {
  if (model.head.texts === "none" || execOf(model, call)?.turn) return "";
  return inLine((texts.peek(call)?.[0] ?? "").slice(0, 500).replaceAll(/\s+/g, " ")).trim();
}

/**
 * Prompts of a batch begin alike: the beginning that most of those in sight have, if it is long.
 */
function shared(lines: readonly string[]): string {
  const alike = [...Map.groupBy(lines, (line) => line.slice(0, BEGINNING)).values()];
  const [most = []] = alike.toSorted((one, other) => other.length - one.length);
  if (most.length < ALIKE) return "";
  const [first = ""] = most;
  let { length } = first;
  for (const line of most) while (!line.startsWith(first.slice(0, length))) length--;
  return length < BEGINNING ? "" : first.slice(0, length);
}

const BEGINNING = 24;
const ALIKE = 4;

/**
 * Gives the range of a row: a call of an open fold has that of the fold,
 * others that of what is listed.
 */
function openRanges({ model, execs }: View): (row: number) => Range {
  const { clock, head, asked, ended, folds, foldOf } = model;
  const [first, last] = execs ?? [];
  const listed = head.execs.slice(first ?? head.execs.length, (last ?? 0) + 1).filter(({ from, to }) => to > from);
  const ranges = new Map([[-1, over(listed[0] && { from: listed[0].from, to: listed.at(-1)?.to ?? 0 })]]);

  function over(calls: Stretch | undefined): Range {
    if (!calls) return [0, clock.width];
    let from = clock.width;
    let to = 0;
    for (let call = calls.from; call < calls.to; call++) {
      from = Math.min(from, clock.at(asked(call)));
      to = Math.max(to, isOver(model, call) ? clock.at(ended(call)) : clock.width);
    }
    return [from, Math.max(to, from + 1)];
  }

  return (row) => {
    const fold = foldOf[row] ?? -1;
    const range = ranges.get(fold) ?? over(folds[fold]);
    ranges.set(fold, range);
    return range;
  };
}

/** The number that stands for a thing in the list; NaN: it has no row. */
function codeOf({ kind, index }: Chosen): number {
  if (kind === "call") return index;
  return kind === "batch" ? -1 - index : Number.NaN;
}

const chosenAt = (row: number): Chosen => (row < 0 ? { kind: "batch", index: -1 - row } : { kind: "call", index: row });
