import type { Json } from "../index.ts";

/** JSON for people: what fits into a line of `width` characters stands in one, the rest is indented by two. */
export function prettyJson(value: Json, width: number): string {
  return render(value, 0, width);
}

function render(value: Json, indent: number, width: number): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const items = Array.isArray(value)
    ? value.map((item) => render(item, indent + 2, width))
    : Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${render(item, indent + 2, width)}`);
  if (items.length === 0) return open + close;
  const space = Array.isArray(value) ? "" : " ";
  const length = items.reduce((sum, item) => sum + item.length + 2, indent + 2 * space.length);
  if (length <= width && !items.some((item) => item.includes("\n"))) {
    return `${open}${space}${items.join(", ")}${space}${close}`;
  }
  const margin = " ".repeat(indent + 2);
  return `${open}\n${items.map((item) => margin + item).join(",\n")}\n${" ".repeat(indent)}${close}`;
}

/** The parts of JSON text with what each is, for colours: joined they give the text. */
export function jsonParts(json: string): { text: string; kind: "key" | "string" | "number" | "word" | "other" }[] {
  const tokens = /("(?:[^"\\]|\\.)*")(?=\s*:)|("(?:[^"\\]|\\.)*")|(-?\d[\d.eE+-]*)|(true|false|null)|[^"\d\-tfn]+|./gs;
  return [...json.matchAll(tokens)].map(([text, key, string, number, word]) => ({
    text,
    kind: key ? "key" : string ? "string" : number ? "number" : word ? "word" : "other",
  }));
}
