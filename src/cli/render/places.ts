import * as v from "valibot";
import type { Json } from "../../index.ts";
import { inLine } from "../../visible.ts";
import type { Output } from "./terminal.ts";

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(1));

/** A place in a document, as `find(…, { docs: true })` and `doc_at` give it. The id is a path in the context. */
const PlaceSchema = v.object({ id: v.string(), line: count, column: count, text: v.exactOptional(v.string()) });
type Place = v.InferOutput<typeof PlaceSchema>;

const PlacesSchema = v.pipe(v.array(PlaceSchema), v.minLength(1));
const FoundSchema = v.strictObject({ matches: PlacesSchema, capped: v.boolean() });

/** The places that a result consists of: a list of them, or what `find` gives. null: it is something else. */
export function placesIn(value: Json): readonly Place[] | null {
  const found = v.safeParse(v.union([PlacesSchema, FoundSchema]), value, { abortEarly: true });
  if (!found.success) return null;
  return "matches" in found.output ? found.output.matches : found.output;
}

/** `docs/a.md:12:3: the line`, as rg prints it. */
export function placeLine({ id, line, column, text }: Place, { paint }: Pick<Output, "paint">): string {
  const where = `${paint(inLine(id), "magenta")}:${paint(String(line), "green")}:${column}`;
  return text === undefined ? where : `${where}: ${paint(inLine(text.trimEnd()))}`;
}
