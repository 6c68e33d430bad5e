import * as v from "valibot";
import type { Json } from "../../index.ts";
import { inLine } from "../../platform/visible.ts";
import type { Output } from "./terminal.ts";

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(1));

/** A place in a document, as `find(…, { docs: true })` and `doc_at` give it. The id is a path in the context. */
const PlaceSchema = v.object({ id: v.string(), line: count, column: count, text: v.exactOptional(v.string()) });
type Place = Omit<v.InferOutput<typeof PlaceSchema>, "column"> & { readonly column?: number };

/** A hit as `search` gives it, whose text is a chunk of several lines. */
const HitSchema = v.pipe(
  v.object({ doc_id: v.string(), line: count, score: v.number(), text: v.string() }),
  v.transform(({ doc_id, text, ...others }) => ({ id: doc_id, ...others, text: beginning(text), chunk: text })),
);
export type Hit = v.InferOutput<typeof HitSchema>;

const SHOWN_UNITS = 200;

function beginning(text: string): string {
  const shown = text.trim().replaceAll(/\s+/g, " ");
  return shown.length > SHOWN_UNITS ? `${shown.slice(0, SHOWN_UNITS).toWellFormed()}…` : shown;
}

const PlacesSchema = v.pipe(v.union([v.array(PlaceSchema), v.array(HitSchema)]), v.minLength(1));
const FoundSchema = v.strictObject({ matches: PlacesSchema, capped: v.boolean() });

/** The places that a result consists of: a list of them, or what `find` or `search` gives. null: it is something else. */
export function placesIn(value: Json): readonly Place[] | null {
  const found = v.safeParse(v.union([PlacesSchema, FoundSchema]), value, { abortEarly: true });
  if (!found.success) return null;
  return "matches" in found.output ? found.output.matches : found.output;
}

/** The hits of a `search`; none if it is something else. */
export function hitsIn(value: Json): readonly Hit[] {
  const found = v.safeParse(v.array(HitSchema), value);
  return found.success ? found.output : [];
}

/** `docs/a.md:12:3: the line`, as rg prints it. */
export function placeLine({ id, line, column, text }: Place, { paint }: Pick<Output, "paint">): string {
  const at = `${paint(inLine(id), "magenta")}:${paint(String(line), "green")}`;
  const where = column === undefined ? at : `${at}:${column}`;
  return text === undefined ? where : `${where}: ${paint(inLine(text.trimEnd()))}`;
}
