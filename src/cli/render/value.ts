import * as v from "valibot";
import type { Json } from "../../index.ts";
import { inLine, jsonText } from "../../platform/visible.ts";
import { hasFields, type WrittenJson } from "../../platform/written-json.ts";
import { type Output, type Style, writeData } from "./terminal.ts";

/** A value and a newline; on a terminal a line for each place, if it is nothing but places. */
export function showValue(value: Json, output: Output): void {
  if (typeof value === "string") {
    writeData(output, value.endsWith("\n") ? value : `${value}\n`);
    return;
  }
  const places = output.isTerminal ? placesIn(value) : null;
  if (places) {
    output.writeRaw(places.map((place) => `${placeLine(place, output)}\n`).join(""));
    return;
  }
  const json = prettyJson(value, output.columns);
  if (!output.colours) output.write(`${json}\n`);
  else output.writeRaw([...jsonParts(json).map(({ text, kind }) => output.paint(text, COLOURS[kind])), "\n"].join(""));
}

const COLOURS: Readonly<Record<JsonPart["kind"], Style | undefined>> = {
  key: "cyan",
  string: "green",
  number: "yellow",
  word: "magenta",
  other: undefined,
};

/**
 * JSON for people: what fits into a line of `width` characters stands in one, the rest is indented
 * by two.
 */
export function prettyJson(value: WrittenJson, width: number): string {
  return render(value, { indent: 0, lead: 0 }, width);
}

/**
 * Deeper levels are not indented further: a list in a list in a list … would take the square of its
 * depth.
 */
const DEEPEST = 100;

/** @param at columns before the line of the value, and those that its key takes */
function render(value: WrittenJson, at: { indent: number; lead: number }, width: number): string {
  const isList = Array.isArray(value);
  if (!isList && !hasFields(value)) return jsonText(value);
  const indent = Math.min(at.indent + 2, DEEPEST);
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

/** A piece of JSON as it is written, with what it is. A word is `true`, `false` or `null`. */
interface JsonPart {
  readonly text: string;
  readonly kind: "key" | "string" | "number" | "word" | "other";
}

/** The parts of JSON text with what each is, for colours: joined they give the text. */
export function jsonParts(json: string): JsonPart[] {
  const tokens = /("(?:[^"\\]|\\.)*")(?=\s*:)|("(?:[^"\\]|\\.)*")|(-?\d[\d.eE+-]*)|(true|false|null)|[^"\d\-tfn]+|./gs;
  return [...json.matchAll(tokens)].map(([text, key, string, number, word]) => ({
    text,
    kind: key ? "key" : string ? "string" : number ? "number" : word ? "word" : "other",
  }));
}

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(1));

/**
 * A place in a document, as `find(…, { docs: true })` and `doc_at` give it. The id is a path in the
 * context.
 */
const part = v.optional(v.nullable(v.string()), null);
const PlaceSchema = v.object({
  id: v.string(),
  line: count,
  column: count,
  place: part,
  text: v.exactOptional(v.string()),
});
type Place = Omit<v.InferOutput<typeof PlaceSchema>, "column"> & {
  readonly column?: number;
  /** Ranges of the text that are shown as found. */
  readonly marks?: readonly Mark[];
};

const offset = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

/** A hit as `search` gives it: its text is a chunk, and `at` the place in P of the line to show. */
const HitSchema = v.pipe(
  v.object({
    doc_id: v.string(),
    line: count,
    place: part,
    score: v.number(),
    text: v.string(),
    start: offset,
    at: offset,
  }),
  v.transform(({ doc_id, text, start, at, ...others }) => ({
    id: doc_id,
    ...others,
    text:
      text
        .slice(at - start)
        .split("\n", 1)[0]
        ?.trim() ?? "",
    chunk: text,
  })),
);
export type Hit = v.InferOutput<typeof HitSchema>;

const PlacesSchema = v.pipe(v.union([v.array(PlaceSchema), v.array(HitSchema)]), v.minLength(1));
const FoundSchema = v.strictObject({ matches: PlacesSchema, capped: v.boolean() });

/**
 * The places that a result consists of: a list of them, or what `find` or `search` gives. null: it
 * is something else.
 */
export function placesIn(value: Json): readonly Place[] | null {
  const places = v.safeParse(v.union([PlacesSchema, FoundSchema]), value, { abortEarly: true });
  if (!places.success) return null;
  return "matches" in places.output ? places.output.matches : places.output;
}

/** The hits of a `search`; none if it is something else. */
export function hitsIn(value: Json): readonly Hit[] {
  const hits = v.safeParse(v.array(HitSchema), value);
  return hits.success ? hits.output : [];
}

/** Most units of a line that a terminal shows. */
export const SHOWN_UNITS = 200;

/**
 * `docs/a.md:12:3: the line`, as rg prints it; in a converted document `report.pdf p.12: the line`.
 *
 * @param most units of the line that are shown
 */
export function placeLine(
  { id, line, column, place, text, marks = [] }: Place,
  output: Pick<Output, "paint">,
  most = SHOWN_UNITS,
): string {
  const { paint } = output;
  const document = paint(inLine(id), "magenta");
  const at = `${document}:${paint(String(line), "green")}${column === undefined ? "" : `:${column}`}`;
  const where = place === null ? at : `${document} ${paint(inLine(place), "green")}`;
  return text === undefined ? where : `${where}: ${markedLine(text.trimEnd(), marks, most, output)}`;
}

/** A half-open range of a line, UTF-16 units. */
type Mark = readonly [start: number, end: number];

/** Units shown before the first mark of a line that is cut. */
const LEAD_UNITS = 60;

/**
 * A line with its marks painted. One of more than `most` units is cut around the first mark, with
 * `…` for what is left out.
 */
export function markedLine(
  line: string,
  marks: readonly Mark[],
  most: number,
  { paint }: Pick<Output, "paint">,
): string {
  const first = marks[0]?.[0] ?? 0;
  const from = line.length <= most || first <= Math.max(0, most - LEAD_UNITS) ? 0 : Math.max(0, first - LEAD_UNITS);
  const to = Math.min(line.length, from + most);
  const shown: string[] = [];
  const show = (start: number, end: number, isMarked: boolean) => {
    const text = inLine(line.slice(start, end).toWellFormed());
    shown.push(isMarked ? paint(text, ["bold", "red"]) : paint(text));
  };
  let at = from;
  for (const [start, end] of marks) {
    if (start < at || start >= to) continue;
    show(at, start, false);
    at = Math.min(end, to);
    show(start, at, true);
  }
  show(at, to, false);
  return `${from > 0 ? "…" : ""}${shown.join("")}${to < line.length ? "…" : ""}`;
}
