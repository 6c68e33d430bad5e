import { amount, thousands } from "../../platform/figures.ts";
import type { Texts } from "../format.ts";
import { h, rest } from "./dom.ts";
import type { Source } from "./source.ts";
import { nounOf, type View } from "./view.ts";

/** ms between two reports of a search that continues. */
const REPORT = 300;

/**
 * The search through all texts: chunk by chunk, and only chunks with the word in them are read
 * whole.
 */
export interface OpenedSearch {
  readonly box: HTMLInputElement;
  /** The element that tells what was found. */
  readonly told: HTMLElement;
  search(): Promise<void>;
}

export function openSearch(view: View, source: Source): OpenedSearch {
  const told = h("span", { class: "note", role: "status", "aria-live": "polite" });
  const label = nounOf(view.model) === "job" ? "Search ids and errors" : "Search prompts, answers, code and output";
  const on = { input: () => void search() };
  const box = h("input", { type: "search", placeholder: "Search texts  /", "aria-label": label, on });
  let newest = 0;

  async function search(): Promise<void> {
    const own = ++newest;
    view.query = box.value.toLowerCase();
    const { head } = view.model;
    const noun = nounOf(view.model) === "job" ? "job" : "call";
    const found = new Set(callsNamed(view.query));
    view.found = view.query === "" ? null : found;
    let reported = performance.now();
    let unread = 0;
    const tell = (end: string) => {
      const calls = [...found].filter((text) => text < head.calls).length;
      const execs = found.size > calls ? ` and ${amount(found.size - calls, "exec")}` : "";
      told.textContent = view.query === "" ? "" : `${amount(calls, noun)}${execs}${end}`;
      view.list();
    };
    for (let chunk = 0; view.query !== "" && chunk < head.chunks.length; chunk++) {
      const texts = await textsWith(view.query, chunk).catch(() => null);
      if (own !== newest) return;
      if (!texts) unread++;
      for (const text of texts ?? []) found.add(text);
      if (performance.now() - reported < REPORT) continue;
      tell(` · ${Math.round(((chunk + 1) / head.chunks.length) * 100)} %`);
      await rest();
      reported = performance.now();
    }
    tell(unread > 0 ? `; ${thousands(unread)} parts cannot be read` : "");
  }

  /** The calls whose label or phase has what is searched for. */
  function* callsNamed(query: string): Generator<number> {
    const { columns, head } = view.model;
    const named = (names: readonly string[]) => names.map((name) => name.toLowerCase().includes(query));
    const labels = named(head.labels);
    const phases = named(head.phases);
    for (let call = 0; query !== "" && call < head.calls; call++) {
      if (labels[columns.of("label", call)] || phases[columns.of("phase", call)]) yield call;
    }
  }

  /** The numbers of the texts in a chunk that have what is searched for. */
  async function textsWith(query: string, chunk: number): Promise<number[]> {
    const { head } = view.model;
    const json = await (await source.block(`x${chunk}`, head)).text();
    if (!json.toLowerCase().includes(JSON.stringify(query).slice(1, -1))) return [];
    const all: readonly Texts[] = JSON.parse(json);
    const first = head.chunks[chunk]?.[0] ?? 0;
    return all.flatMap((texts, at) => (texts.some((text) => text.toLowerCase().includes(query)) ? [first + at] : []));
  }

  return { box, told, search };
}
