import { amount, dollars, priced, thousands } from "../../platform/figures.ts";
import { inLine } from "../../platform/visible.ts";
import { h, lasting, tint } from "./dom.ts";
import { execOf, type Fold, foldSums, isOver, kindOf, ranFor, type Stretch } from "./model.ts";
import { type Chosen, foldKey, LOOKS, type View } from "./view.ts";

type Range = readonly [from: number, to: number];

/** Height of a row, pixels. */
export const ROW = 24;

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
export function rowElement(view: View, row: number, at: number, [start, end]: Range, share: string): HTMLElement {
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
  if (model.head.texts === "none") return amount(model.columns.of("plen", call), "character");
  const prompt = promptOf(view, call);
  if (share !== "" && prompt.startsWith(share)) return `… ${prompt.slice(share.length)}`;
  return prompt === "" && !needsText(view, call) ? "(empty)" : prompt;
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

export const needsText = ({ model, texts }: View, call: number) =>
  model.head.texts !== "none" && texts.peek(call) === null;

/** The beginning of a prompt in one line, as far as it is at hand. */
export function promptOf({ model, texts }: View, call: number): string {
  if (model.head.texts === "none" || execOf(model, call)?.turn) return "";
  return inLine((texts.peek(call)?.[0] ?? "").slice(0, 500).replaceAll(/\s+/g, " ")).trim();
}

/**
 * Prompts of a batch begin alike: the beginning that most of those in sight have, if it is long.
 */
export function shared(lines: readonly string[]): string {
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
export function openRanges({ model, execs }: View): (row: number) => Range {
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
export function codeOf({ kind, index }: Chosen): number {
  if (kind === "call") return index;
  return kind === "batch" ? -1 - index : Number.NaN;
}

export const chosenAt = (row: number): Chosen =>
  row < 0 ? { kind: "batch", index: -1 - row } : { kind: "call", index: row };
