import { amount, dollars, thousands } from "../../platform/figures.ts";
import { inLine } from "../../platform/visible.ts";
import { KINDS } from "../format.ts";
import { h, lasting } from "./dom.ts";
import { ranFor } from "./list.ts";
import { execOf, type Fold, nanosOf } from "./model.ts";
import { type Chosen, countedIn, foldKey, GLYPHS, kindOf, type View } from "./view.ts";

/** The stretch of the picture in which rows are drawn. */
export type Range = readonly [from: number, to: number];

/** Height of a row, pixels. */
export const ROW = 24;

/** A row at its place in the list, and what is done with it. */
interface Placed {
  readonly at: number;
  readonly ranges: ReturnType<typeof openRanges>;
  /** The beginning of prompts that is left out. */
  readonly share: string;
  readonly on: { choose(row: number): void; toggle(fold: Fold): void };
}

export function rowElement(view: View, row: number, { at, ranges, share, on }: Placed): HTMLElement {
  const { model, place, open } = view;
  const fold = row < 0 ? model.folds[-1 - row] : undefined;
  const isPale = place !== null && model.clock.at(model.asked[fold ? fold.from : row] ?? 0) > place;
  const cells = fold ? foldCells(view, fold, ranges.all) : callCells(view, row, ranges.of(row), share);
  return h(
    "div",
    {
      ...{ class: `call${fold ? " fold" : ""}${isPale ? " pale" : ""}`, id: `row${row}`, role: "row" },
      ...{ "aria-rowindex": at + 1, "aria-selected": row === codeOf(view.chosen), css: { top: `${at * ROW}px` } },
      "aria-expanded": fold ? open.has(foldKey(fold, model)) : null,
      on: { click: () => on.choose(row), dblclick: () => fold && on.toggle(fold) },
    },
    ...cells,
  );
}

/** The cells of a call's row. */
function callCells(view: View, call: number, range: Range, share: string): HTMLElement[] {
  const { model } = view;
  const kind = kindOf(model, call);
  const { depth = 0 } = execOf(model.head, model.columns, call) ?? {};
  const nanos = nanosOf(model.columns, call);
  const indent = { "padding-left": `${depth * 14}px` };
  return [
    h("span", { class: "n", role: "gridcell" }, thousands(call + 1)),
    h("span", { role: "gridcell", css: indent }, depth > 0 ? "↳ " : "", labelOf(view, call, share)),
    h("span", { class: "track", role: "gridcell" }, ...bars(view, call, range)),
    cell(`n word ${kind}`, `${GLYPHS[kind]} ${kind === "paid" && nanos > 0 ? dollars(nanos / 1e9) : kind}`),
    cell("n", Number.isFinite(model.ended[call]) ? lasting(ranFor(model, call)) : "…"),
  ];
}

const cell = (name: string, text: string) => h("span", { class: name, role: "gridcell" }, text);

/** The cells of a fold's row: counts, and the classes of its calls as shares of its time. */
function foldCells(view: View, fold: Fold, range: Range): HTMLElement[] {
  const { model, open } = view;
  const { failed, nanos, ended, kinds, isOver } = countedIn(fold, model);
  const began = model.asked[fold.from] ?? 0;
  const calls = fold.to - fold.from;
  const what = fold.batches > 1 ? `${amount(fold.batches, "batch", "batches")}, ` : "batch of ";
  const [from, to] = [percent(model.clock.at(began), range), percent(model.clock.at(ended), range)];
  return [
    cell("n", `${open.has(foldKey(fold, model)) ? "▾" : "▸"} ${thousands(calls)}`),
    cell("", `${what}${amount(calls, "call")}${failed > 0 ? ` · ${thousands(failed)} failed` : ""}`),
    h("span", { class: "track", role: "gridcell" }, ...shares(kinds, from, to)),
    cell("n", nanos > 0 ? dollars(nanos / 1e9) : "–"),
    cell("n", isOver ? lasting(model.clock.lived(ended) - model.clock.lived(began)) : "…"),
  ];
}

function shares(kinds: readonly number[], from: number, to: number): HTMLElement[] {
  const all = kinds.reduce((sum, calls) => sum + calls, 0);
  let left = from;
  return KINDS.flatMap((kind, at) => {
    const width = ((to - from) * (kinds[at] ?? 0)) / Math.max(1, all);
    left += width;
    return kinds[at] ? [bar(kind, left - width, width)] : [];
  });
}

/** The time that a call waited, and the time that it ran. */
function bars({ model }: View, call: number, range: Range): HTMLElement[] {
  const { clock, asked, sent, ended } = model;
  const place = (instant = 0) => percent(clock.at(instant), range);
  const [from, start] = [place(asked[call]), place(Number.isNaN(sent[call]) ? asked[call] : sent[call])];
  const end = Number.isFinite(ended[call]) ? place(ended[call]) : 100;
  return [bar("wait", from, start - from), bar(kindOf(model, call), start, end - start)];
}

const bar = (name: string, left: number, width: number) =>
  h("i", { class: name, css: { left: `${left}%`, width: `${Math.max(0, width)}%` } });

const percent = (place: number, [from, to]: Range) => Math.max(0, Math.min(100, ((place - from) / (to - from)) * 100));

/** The words of a call: its prompt, or what the model said if it is the request of a turn. */
function labelOf(view: View, call: number, share: string): string {
  const { head, columns } = view.model;
  const exec = execOf(head, columns, call);
  if (exec?.turn) return `turn ${exec.turn}${exec.label ? `: ${exec.label}` : ""}`;
  if (head.texts === "none") return amount(columns.plen[call] ?? 0, "character");
  const prompt = promptOf(view, call);
  if (share !== "" && prompt.startsWith(share)) return `… ${prompt.slice(share.length)}`;
  return prompt === "" && !needsText(view, call) ? "(empty)" : prompt;
}

export const needsText = ({ model, texts }: View, call: number) =>
  model.head.texts !== "none" && texts.peek(call) === null;

/** The beginning of a prompt in one line, as far as it is at hand. */
export function promptOf({ model, texts }: View, call: number): string {
  const { head, columns } = model;
  if (head.texts === "none" || execOf(head, columns, call)?.turn) return "";
  return inLine((texts.peek(call)?.[0] ?? "").slice(0, 500).replaceAll(/\s+/g, " ")).trim();
}

/** Prompts of a batch begin alike: the beginning that most of those in sight have, if it is long. */
export function shared(lines: readonly string[]): string {
  const alike = [...Map.groupBy(lines, (line) => line.slice(0, BEGINNING)).values()];
  const [most = []] = alike.toSorted((one, other) => other.length - one.length);
  if (most.length < ALIKE) return "";
  const [first = ""] = most;
  let { length } = first;
  for (const line of most) while (!line.startsWith(first.slice(0, length))) length--;
  return length < BEGINNING ? "" : first.slice(0, length);
}

const [BEGINNING, ALIKE] = [24, 4];

/** The stretches in which calls are drawn: those of an open batch over its time, others over that of what is listed. */
export function openRanges({ model, execs }: View) {
  const { clock, head, asked, ended, folds, foldOf } = model;
  const known = new Map<number, Range>();

  function over(calls: { readonly from: number; readonly to: number } | undefined): Range {
    if (!calls) return [0, clock.width];
    let [from, to] = [clock.width, 0];
    for (let call = calls.from; call < calls.to; call++) {
      from = Math.min(from, clock.at(asked[call] ?? 0));
      to = Math.max(to, Number.isFinite(ended[call]) ? clock.at(ended[call] ?? 0) : clock.width);
    }
    return [from, Math.max(to, from + 1)];
  }

  const chosen = execs ? head.execs.slice(execs[0], execs[1] + 1).filter(({ from, to }) => to > from) : [];
  const [first, last] = [chosen[0], chosen.at(-1)];
  const all = over(first && last && { from: first.from, to: last.to });

  return {
    all,
    of(call: number): Range {
      const fold = foldOf[call] ?? -1;
      if (fold < 0) return all;
      const range = known.get(fold) ?? over(folds[fold]);
      known.set(fold, range);
      return range;
    },
  };
}

/** The number that stands for a thing in the list; NaN: it has no row. */
export function codeOf(chosen: Chosen): number {
  if (chosen.kind === "call") return chosen.index;
  return chosen.kind === "fold" ? -1 - chosen.index : Number.NaN;
}
