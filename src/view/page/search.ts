import { amount, thousands } from "../../platform/figures.ts";
import type { Texts } from "../format.ts";
import { h, rest } from "./dom.ts";
import type { Source } from "./source.ts";
import type { Actions, View } from "./view.ts";

/** ms between two reports of a search that goes on. */
const REPORT = 300;

/** The search through all texts: chunk by chunk, and only chunks with the word in them are read whole. */
export function openSearch(view: View, actions: Actions, source: Source) {
  const told = h("span", { class: "note", role: "status", "aria-live": "polite" });
  const label = "Search prompts, answers, code and output";
  const box = h("input", { type: "search", placeholder: "Search texts  /", "aria-label": label, on: { input } });
  let timer: ReturnType<typeof setTimeout> | undefined;
  let newest = 0;

  function input(): void {
    clearTimeout(timer);
    timer = setTimeout(() => void search(), 150);
  }

  async function search(): Promise<void> {
    const own = ++newest;
    view.query = box.value.toLowerCase();
    const calls = new Set<number>();
    view.found = view.query === "" ? null : calls;
    told.textContent = "";
    const { head } = view.model;
    let [reported, execs, unread] = [performance.now(), 0, 0];
    for (let chunk = 0; view.query !== "" && chunk < head.chunks.length; chunk++) {
      const found = await foundIn(chunk).catch(() => null);
      if (own !== newest) return;
      if (!found) unread++;
      for (const text of found ?? []) {
        if (text < head.calls) calls.add(text);
        else execs++;
      }
      if (performance.now() - reported < REPORT) continue;
      told.textContent = `${thousands(calls.size)} calls · ${Math.round(((chunk + 1) / head.chunks.length) * 100)} %`;
      actions.list();
      await rest();
      reported = performance.now();
    }
    const inExecs = execs > 0 ? ` and ${thousands(execs)} execs` : "";
    const problem = unread > 0 ? `; ${amount(unread, "part")} cannot be read` : "";
    if (view.query !== "") told.textContent = `${thousands(calls.size)} calls${inExecs}${problem}`;
    actions.list();
  }

  /** The numbers of the texts in a chunk that have what is searched for. */
  async function foundIn(chunk: number): Promise<number[]> {
    const { query, model } = view;
    const json = await source.chunk(model.head, chunk);
    if (!json.toLowerCase().includes(JSON.stringify(query).slice(1, -1))) return [];
    const all: readonly Texts[] = JSON.parse(json);
    const first = model.head.chunks[chunk]?.[0] ?? 0;
    return all.flatMap((texts, at) => (texts.some((text) => text.toLowerCase().includes(query)) ? [first + at] : []));
  }

  return { box, told, search };
}
