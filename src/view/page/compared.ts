import { amount, dollars, thousands } from "../../platform/figures.ts";
import type { Head } from "../format.ts";
import { button, type Child, fill, h } from "./dom.ts";

type Compared = NonNullable<Head["against"]>;
type Place = NonNullable<Compared["past"]["last"]>;

const KINDS = [
  ["again", "asked again, with the same prompt"],
  ["new", "new prompts"],
  ["gone", "not asked any more"],
] as const;

/**
 * The comparison with another session: its sentence, and what is behind it.
 * @param reach shows a call, by its index
 */
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

function partsOf(compared: Compared, head: Head, reach: (call: number) => void): Child[] {
  const { against, calls, counts, documents } = compared;
  const own = head.session.name ?? head.session.id;
  const other = against.name ?? against.id;
  const prices = [compared.cost_usd, compared.cost_usd_before].map((usd) => (usd > 0 ? dollars(usd) : "no price"));
  const ofCalls = KINDS.flatMap(([is, words]) => {
    const rows = calls.filter((call) => call.is === is);
    return list(words, counts[is], rows, (call) => {
      const place = is === "gone" ? `${placeWords(call)} of ${other}` : toCall(call, head, reach);
      const why = reasonOf(call);
      return [place, why && `, ${why}`, call.words && `: ${call.words}`];
    });
  });
  const ofDocuments = (["changed", "new", "gone"] as const).flatMap((is) => {
    const words = is === "changed" ? "documents that changed" : `documents that are ${is}`;
    return list(words, documents?.[is] ?? 0, documents?.listed[is] ?? [], (id) => [id]);
  });
  return [
    h("p", {}, `${own} against ${other}: ${prices.join(" against ")}. ${pastOf(compared)}`),
    ...[...ofCalls, ...ofDocuments],
    ...(["result", "answer"] as const).flatMap((what) => {
      const hunks = compared[what]?.hunks;
      return hunks ? [h("h2", {}, what), h("pre", {}, `${hunks}\n`)] : [];
    }),
  ];
}

function pastOf({ past: { calls, is_shared, last } }: Compared): string {
  if (!last) return "They have no common past.";
  const same = is_shared ? "records" : "cells, prompts and answers";
  return `Their common past has the same ${same}: ${amount(calls, "call")}, the last one is ${placeWords(last)}.`;
}

const placeWords = ({ exec, call }: Place) => `call ${call} of exec ${exec}`;

function reasonOf({ is, why, documents, above }: Compared["calls"][number]): string {
  const what = documents.length > 0 ? documents.join(", ") : above ? placeWords(above) : "";
  if (why === null) return is === "gone" ? "" : "the reason is not recorded";
  return what === "" ? why : `${why} (${what})`;
}

/** A button that shows the call. */
function toCall(place: Place, { execs }: Head, reach: (call: number) => void): Child {
  const exec = execs.find(({ number, depth }) => depth === 0 && number === place.exec);
  const call = exec ? exec.from + place.call - 1 : -1;
  if (!exec || call >= exec.to) return placeWords(place);
  return button(placeWords(place), () => reach(call));
}

/** Says how many there are, and lists some of them. */
function list<Row>(words: string, all: number, rows: readonly Row[], told: (row: Row) => readonly Child[]): Child[] {
  if (all === 0) return [];
  const more = all > rows.length ? h("li", {}, `${thousands(all - rows.length)} more`) : null;
  return [
    h("h2", {}, `${words}: ${thousands(all)}`),
    h("ul", {}, ...rows.map((row) => h("li", {}, ...told(row))), more),
  ];
}
