import { inLine } from "../../platform/visible.ts";
import type { TracedCitation } from "../format.ts";
import { h } from "./dom.ts";
import { GRADE_WORDS } from "./view.ts";

/** `lease.pdf, p.3` or `notes.md, line 3`. */
export function placeOf({ doc, line, place }: Pick<TracedCitation, "doc" | "line" | "place">): string {
  const part = place !== null ? `, ${place}` : line === null ? "" : `, line ${line}`;
  return inLine(`${doc ?? "no document"}${part}`);
}

/** A place that an answer rests on, with its quote. It opens the text around it, in which the quote is marked and in sight. */
export function citationParts(citation: TracedCitation): HTMLElement {
  const { quote, grade, around } = citation;
  const words = grade && h("small", {}, ` · ${GRADE_WORDS[grade]}`);
  const told = [h("b", {}, placeOf(citation)), words, h("p", {}, quote)];
  if (!around) return h("div", { class: "cite" }, ...told);
  const { text, at, length } = around;
  const mark = h("mark", {}, text.slice(at, at + length));
  const whole = h("pre", { tabindex: 0 }, text.slice(0, at), mark, text.slice(at + length));
  const reveal = () => {
    whole.scrollTop = mark.offsetTop - whole.clientHeight / 3;
  };
  return h("details", { class: "cite", on: { toggle: reveal } }, h("summary", {}, ...told), whole);
}
