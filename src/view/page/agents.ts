import { messageOf } from "../../platform/errors.ts";
import { dollars, thousands } from "../../platform/figures.ts";
import type { Texts } from "../format.ts";
import { textSection } from "./details.ts";
import { button, type Child, fill, h, lasting, tint } from "./dom.ts";
import { isOver, kindOf, type Model, ranFor, type Sums, sumsOver, tokensOf } from "./model.ts";
import { countsLine, phasesOf, stateOf, type WorkflowExec } from "./run.ts";
import { LOOKS, markWords, type View } from "./view.ts";

/** Agents of a phase that are listed before the rest is opened. Those that failed or are open always are. */
const LISTED = 100;

/** The agents of a run: a table for each phase. A row opens its prompt and its answer. */
export interface Agents {
  readonly element: HTMLElement;
  draw(exec: WorkflowExec): Promise<void>;
}

export function openAgents(view: View): Agents {
  const element = h("div", {});
  const tables = new Map<number, PhaseTable>();
  return {
    element,
    async draw(exec) {
      const phases = phasesOf(view.model, exec);
      for (const [phase, calls] of phases) {
        const table = tables.get(phase) ?? openPhase(view);
        tables.set(phase, table);
        await table.draw(view.model.head.phases[phase] ?? "", exec, calls);
      }
      const shown = [...phases.keys()].flatMap((phase) => tables.get(phase)?.element ?? []);
      const isSame = shown.length === element.children.length && shown.every((one, at) => element.children[at] === one);
      if (!isSame) fill(element, ...shown);
    },
  };
}

interface PhaseTable {
  readonly element: HTMLElement;
  draw(title: string, exec: WorkflowExec, calls: readonly number[]): Promise<void>;
}

function openPhase(view: View): PhaseTable {
  const element = h("section", { class: "phase" });
  /** Texts of the rows that a reader has opened, by the numbers of their calls in the exec. */
  const opened = new Map<number, Texts | string>();
  let isWhole = false;
  let drawn = "";
  let redraw = () => {};

  async function read(call: number): Promise<Texts | string> {
    try {
      return await view.texts.of(call);
    } catch (error) {
      return `These texts cannot be read: ${messageOf(error)}`;
    }
  }

  async function toggle(number: number, call: number): Promise<void> {
    if (!opened.delete(number)) opened.set(number, await read(call));
    redraw();
  }

  function paint(title: string, exec: WorkflowExec, calls: readonly number[]): void {
    const { model } = view;
    const listed = isWhole ? calls : calls.filter((call, at) => at < LISTED || standsOut(model, call));
    const rows = listed.flatMap((call) => {
      const number = call - exec.from;
      const texts = opened.get(number);
      const row = rowOf(view, call, number, texts !== undefined, () => void toggle(number, call));
      return texts === undefined ? [row] : [row, textsRow(view, call, texts)];
    });
    const whole = () => {
      isWhole = true;
      redraw();
    };
    const rest = calls.length - listed.length;
    fill(
      element,
      h("h2", {}, title || (exec.workflow.phases.length > 0 ? "Without a phase" : "Agents")),
      h("p", { class: "note" }, sumsLine(model, calls)),
      rows.length > 0 ? h("table", {}, h("thead", {}, headRow()), h("tbody", {}, ...rows)) : null,
      rest > 0 ? button(`Show ${thousands(rest)} more`, whole) : null,
    );
  }

  return {
    element,
    async draw(title, exec, calls) {
      const { model } = view;
      redraw = () => paint(title, exec, calls);
      const key = JSON.stringify([title, model.head.session.status, calls.map((call) => model.columns.row(call))]);
      if (key === drawn) return;
      drawn = key;
      for (const number of opened.keys()) opened.set(number, await read(exec.from + number));
      redraw();
    },
  };
}

const COLUMNS = ["agent", "answered by", "state", "time", "tokens", "cost", ""];
const NUMBERS = ["time", "tokens", "cost"];
const headRow = () =>
  h("tr", {}, ...COLUMNS.map((name) => h("th", { class: NUMBERS.includes(name) ? "n" : null }, name)));

/** True for an agent that has failed, or is not over. */
const standsOut = (model: Model, call: number) => model.columns.of("error", call) > 0 || !isOver(model, call);

function rowOf(view: View, call: number, number: number, isOpen: boolean, toggle: () => void): HTMLElement {
  const { model } = view;
  const { columns, head } = model;
  const label = head.labels[columns.of("label", call)] || `agent ${thousands(number + 1)}`;
  const sums = sumsOver(model, [call]);
  const [, , style] = LOOKS[kindOf(model, call)];
  const numbers = [
    isOver(model, call) ? lasting(ranFor(model, call)) : "",
    hasTokens(sums) ? tokensOf(sums) : "",
    sums.nanos > 0 ? dollars(sums.nanos / 1e9) : "",
  ];
  return h(
    "tr",
    { class: columns.of("error", call) > 0 ? "bad" : null },
    h("td", {}, button(label, toggle, { "aria-expanded": isOpen })),
    h("td", {}, answeredBy(head.models[columns.of("model", call)] ?? "")),
    h("td", { class: "word", css: tint(style) }, stateOf(model, call)),
    ...numbers.map((figure) => h("td", { class: "n" }, figure)),
    h("td", { class: "note" }, markWords(columns.of("marks", call)).join(", ")),
  );
}

/** `claude · opus` of an agent, and the name of a model. */
function answeredBy(model: string): string {
  const [, agent, own] = /^agent:([^/]{1,100})\/(.*)$/s.exec(model) ?? [];
  if (agent === undefined) return model;
  return own === "default" ? agent : `${agent} · ${own}`;
}

function textsRow({ query }: View, call: number, texts: Texts | string): HTMLElement {
  const [asked, answer, trees] = typeof texts === "string" ? [] : texts;
  const parts: Child[] =
    typeof texts === "string"
      ? [h("p", { class: "note" }, texts)]
      : [
          ...textSection("prompt", asked, query),
          ...textSection("answer", answer, query),
          ...textSection("its changes are in", trees, query),
        ];
  const empty = h("p", { class: "note" }, "Texts are left out.");
  return h(
    "tr",
    { class: "texts", id: `agent${call}` },
    h("td", { colspan: COLUMNS.length }, ...(parts.length > 0 ? parts : [empty])),
  );
}

const hasTokens = ({ input, output, cached_in, cache_write }: Sums) => input + output + cached_in + cache_write > 0;

/** Counts of the agents of a phase, how long it took from its first to its last, and what they took. */
function sumsLine(model: Model, calls: readonly number[]): string {
  const [first] = calls;
  if (first === undefined) return countsLine(model, calls);
  const sums = sumsOver(model, calls);
  const { clock, asked } = model;
  const parts = [
    countsLine(model, calls),
    sums.isOver ? lasting(clock.lived(sums.ended) - clock.lived(asked(first))) : "",
    hasTokens(sums) ? `${tokensOf(sums)} tokens` : "",
    sums.nanos > 0 ? dollars(sums.nanos / 1e9) : "",
  ];
  return parts.filter((part) => part !== "").join(" · ");
}
