import type { Json } from "../../../runtime/index.ts";
import { type Context, openPlaces } from "../../context/index.ts";
import type { Citation } from "./api.ts";

const MAX_CITATIONS = 50;
const QUOTE_UNITS = 300;

/** The citations of an answer. What is not a place of P is listed as not valid; it does not undo the answer. */
export function citationsOf(cite: Json | undefined, context: Pick<Context, "text" | "documents">): readonly Citation[] {
  if (cite === undefined || cite === null) return [];
  const { at } = openPlaces(context.text, context.documents);
  const citation = (range: readonly [number, number] | null) => (range ? citationOf(range, context.text, at) : INVALID);
  return givenIn(cite)
    .slice(0, MAX_CITATIONS)
    .map((one) => citation(rangeOf(one)));
}

/** A warning if more places were given than are listed. */
export function citationsCapped(cite: Json | undefined): readonly string[] {
  const { length } = givenIn(cite ?? []);
  return length > MAX_CITATIONS ? [`citations_capped: ${length}`] : [];
}

const givenIn = (cite: Json): readonly Json[] => (isPair(cite) || !Array.isArray(cite) ? [cite] : cite);

/** Finds the document that an offset of P is in, and the line and label there. */
type PlaceAt = (offset: number) => {
  readonly id: string;
  readonly start: number;
  readonly line: number;
  readonly place: string | null;
} | null;

function citationOf([start, end]: readonly [number, number], text: Context["text"], at: PlaceAt): Citation {
  const isPlace = Number.isInteger(start) && Number.isInteger(end) && start >= 0 && start < end;
  if (!isPlace || end > text.length) return { ...INVALID, p_start: finite(start), p_end: finite(end) };
  const place = at(start);
  return {
    valid: true,
    doc: place?.id ?? null,
    line: place?.line ?? null,
    place: place?.place ?? null,
    start: place ? start - place.start : null,
    end: place ? end - place.start : null,
    p_start: start,
    p_end: end,
    quote: text.slice(start, Math.min(end, start + QUOTE_UNITS)).replace(/[\uD800-\uDBFF]$/, ""),
  };
}

const INVALID: Citation = {
  valid: false,
  doc: null,
  line: null,
  place: null,
  start: null,
  end: null,
  p_start: null,
  p_end: null,
  quote: null,
};

const finite = (value: number) => (Number.isFinite(value) ? value : null);
/** A pair of numbers, of which JSON has made null of a NaN. */
const isPair = (value: Json): value is [number | null, number | null] =>
  Array.isArray(value) &&
  value.length === 2 &&
  value.every((one) => typeof one === "number" || one === null) &&
  value.some((one) => one !== null);

/** `[start, end]`, or what has both: a search hit, a document. */
function rangeOf(value: Json): readonly [number, number] | null {
  if (isPair(value)) return [value[0] ?? Number.NaN, value[1] ?? Number.NaN];
  if (typeof value !== "object" || value === null) return null;
  const start: unknown = Reflect.get(value, "start");
  const end: unknown = Reflect.get(value, "end");
  return typeof start === "number" && typeof end === "number" ? [start, end] : null;
}
