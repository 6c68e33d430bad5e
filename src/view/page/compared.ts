import { amount, dollars, thousands } from "../../platform/figures.ts";
import type { Head, TracedCompared, TracedEnd, TracedPlace } from "../format.ts";
import { type Child, fill, h } from "./dom.ts";

const KINDS = [
  ["again", "asked again, with the same prompt"],
  ["new", "new prompts"],
  ["gone", "not asked any more"],
] as const;

/** The comparison with another session: its sentence, and what is behind it. @param reach shows a call, by its index */
export function openCompared(reach: (call: number) => void) {
  const element = h("details", { class: "compared" });
  element.hidden = true;
  return {
    element,
    refresh(head: Head): void {
      const { against } = head;
      element.hidden = !against;
      if (against) fill(element, h("summary", {}, against.told), h("div", {}, ...partsOf(against, head, reach)));
    },
  };
}

function partsOf(compared: TracedCompared, head: Head, reach: (call: number) => void): Child[] {
  const { against, cost_usd, cost_usd_before, calls, counts, documents } = compared;
  const own = head.session.name ?? head.session.id;
  const other = against.name ?? against.id;
  const parts: Child[] = [
    h(
      "p",
      {},
      `${own} against ${other}: ${priceOf(cost_usd)} against ${priceOf(cost_usd_before)}. ${pastOf(compared)}`,
    ),
  ];
  for (const [is, words] of KINDS) {
    const listed = calls.filter((call) => call.is === is);
    const rows = listed.map((call) => {
      const place = is === "gone" ? `${placeWords(call)} of ${other}` : toCall(call, head, reach);
      const why = reasonOf(call);
      return h("li", {}, place, why === "" ? "" : `, ${why}`, call.words === "" ? "" : `: ${call.words}`);
    });
    parts.push(...list(words, rows, counts[is]));
  }
  for (const is of ["changed", "new", "gone"] as const) {
    const ids = documents?.listed[is] ?? [];
    const words = is === "changed" ? "documents that changed" : `documents that are ${is}`;
    parts.push(
      ...list(
        words,
        ids.map((id) => h("li", {}, id)),
        documents?.[is] ?? 0,
      ),
    );
  }
  return [...parts, ...endOf("result", compared.result), ...endOf("answer", compared.answer)];
}

const priceOf = (usd: number) => (usd > 0 ? dollars(usd) : "no price");

function pastOf({ past: { calls, is_shared, last } }: TracedCompared): string {
  if (!last) return "They have no common past.";
  const same = is_shared ? "records" : "cells, prompts and answers";
  return `Their common past has the same ${same}: ${amount(calls, "call")}, the last one is ${placeWords(last)}.`;
}

const placeWords = ({ exec, call }: TracedPlace) => `call ${call} of exec ${exec}`;

function reasonOf({ is, why, documents, above }: TracedCompared["calls"][number]): string {
  const what = documents.length > 0 ? documents.join(", ") : above ? placeWords(above) : "";
  if (why === null) return is === "gone" ? "" : "the reason is not recorded";
  return what === "" ? why : `${why} (${what})`;
}

/** A button that shows the call. */
function toCall(place: TracedPlace, { execs }: Head, reach: (call: number) => void): Child {
  const exec = execs.find(({ number, depth }) => depth === 0 && number === place.exec);
  const call = exec ? exec.from + place.call - 1 : -1;
  if (!exec || call >= exec.to) return placeWords(place);
  return h("button", { type: "button", on: { click: () => reach(call) } }, placeWords(place));
}

function list(words: string, rows: readonly Child[], all: number): Child[] {
  if (all === 0) return [];
  const more = all - rows.length;
  const rest = more > 0 ? h("li", {}, `${thousands(more)} more`) : null;
  return [h("h2", {}, `${words}: ${thousands(all)}`), h("ul", {}, ...rows, rest)];
}

/** The lines of a diff. What was added or removed has a sign before it as well as a colour. */
function endOf(what: string, end: TracedEnd | null): Child[] {
  if (!end?.hunks) return [];
  const lines = end.hunks.split("\n").map((line) => {
    const style = line.startsWith("+") ? "ok" : line.startsWith("-") ? "failed" : "";
    return h("span", { class: style }, `${line}\n`);
  });
  return [h("h2", {}, what), h("pre", {}, ...lines)];
}
