import type { Json } from "../../index.ts";
import { jsonText } from "../../platform/visible.ts";

/** JSON for people: what fits into a line of `width` characters stands in one, the rest is indented by two. */
export function prettyJson(value: Json, width: number): string {
  return render(value, { indent: 0, lead: 0 }, width);
}

/** Deeper levels are not indented further: a list in a list in a list … would take the square of its depth. */
const DEEPEST = 100;

/** @param at columns before the line of the value, and those that its key takes */
function render(value: Json, at: { indent: number; lead: number }, width: number): string {
  if (typeof value !== "object" || value === null) return jsonText(value);
  const indent = Math.min(at.indent + 2, DEEPEST);
  const isList = Array.isArray(value);
  const items = isList
    ? value.map((item) => render(item, { indent, lead: 0 }, width))
    : Object.entries(value).map(([name, item]) => {
        const key = `${jsonText(name)}: `;
        return key + render(item, { indent, lead: key.length }, width);
      });
  const [open, close] = isList ? ["[", "]"] : ["{", "}"];
  if (items.length === 0) return open + close;
  const space = isList ? "" : " ";
  const length = items.reduce((sum, item) => sum + item.length + 2, at.indent + at.lead + 2 * space.length);
  if (length <= width && !items.some((item) => item.includes("\n"))) {
    return `${open}${space}${items.join(", ")}${space}${close}`;
  }
  const margin = " ".repeat(indent);
  return `${open}\n${items.map((item) => margin + item).join(",\n")}\n${" ".repeat(at.indent)}${close}`;
}

/** The parts of JSON text with what each is, for colours: joined they give the text. */
export function jsonParts(json: string): { text: string; kind: "key" | "string" | "number" | "word" | "other" }[] {
  const tokens = /("(?:[^"\\]|\\.)*")(?=\s*:)|("(?:[^"\\]|\\.)*")|(-?\d[\d.eE+-]*)|(true|false|null)|[^"\d\-tfn]+|./gs;
  return [...json.matchAll(tokens)].map(([text, key, string, number, word]) => ({
    text,
    kind: key ? "key" : string ? "string" : number ? "number" : word ? "word" : "other",
  }));
}
