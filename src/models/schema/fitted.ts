import type { Json } from "../../../runtime/index.ts";
import { isHeld } from "../../platform/cell-json.ts";
import { isRecord, parseJson } from "../../platform/json.ts";
import { type JsonObject, pointed } from "./compare.ts";
import { violations } from "./schema.ts";

/** A value without what models do to the types of a schema. */
interface Fitted {
  readonly value: Json;
  /** Kinds of what was put right. */
  readonly mended: ReadonlySet<string>;
}

/** The kind of mending that leaves such a null out. */
export const NULL_FOR_ABSENT = "null for what is absent";

const MAX_DEPTH = 60;
const FIGURE = /^(?:-?(?:0|[1-9]\d{0,20})(?:\.\d{1,100})?|[Tt]rue|[Ff]alse)$/;

/**
 * The value as the schema has it, where models write it otherwise: a figure, a list or an object in
 * quotes where no text fits, and null for a property that may be absent. The caller compares the
 * result with the schema.
 */
export function fitted(value: Json, schema: Json): Fitted {
  const mended = new Set<string>();
  return { value: partOf(value, schema, { root: schema, mended, depth: 0 }), mended };
}

interface Fitting {
  readonly root: Json;
  readonly mended: Set<string>;
  readonly depth: number;
}

function partOf(part: Json, schema: Json | undefined, above: Fitting): Json {
  const fitting = { ...above, depth: above.depth + 1 };
  if (fitting.depth > MAX_DEPTH) return part;
  const places = placesOf(schema, fitting.root);
  if (typeof part === "string") return unquoted(part, places, fitting);
  if (Array.isArray(part)) {
    const items = places.find((place) => place.items !== undefined)?.items;
    return part.map((item) => partOf(item, items, fitting));
  }
  return isRecord(part) ? fieldsOf(part, places, fitting) : part;
}

/** The schema of a place, and the alternatives in it. */
function placesOf(schema: Json | undefined, root: Json): readonly JsonObject[] {
  const place = targetOf(schema, root);
  if (!isRecord(place)) return [];
  const inner = [place.anyOf ?? [], place.oneOf ?? []].flat().map((one) => targetOf(one, root));
  return [place, ...inner.filter((one) => isRecord(one))];
}

function targetOf(schema: Json | undefined, root: Json): Json | undefined {
  return isRecord(schema) && typeof schema.$ref === "string" ? pointed(root, schema.$ref) : schema;
}

function unquoted(text: string, places: readonly JsonObject[], { mended }: Fitting): Json {
  const types = places.flatMap(({ type }) => type ?? []);
  if (types.length === 0 || types.includes("string")) return text;
  const isFigure = FIGURE.test(text);
  if (!isFigure && !/^\s*[{[]/.test(text)) return text;
  const value = parseJson(isFigure ? text.toLowerCase() : text);
  if (value === undefined || (typeof value === "number" && !isHeld(text))) return text;
  mended.add(isFigure ? "figures in quotes" : "encoded twice");
  return value;
}

function fieldsOf(part: JsonObject, places: readonly JsonObject[], fitting: Fitting): Json {
  const place = places.find(({ properties }) => isRecord(properties)) ?? places[0] ?? {};
  const properties = isRecord(place.properties) ? place.properties : {};
  const required = Array.isArray(place.required) ? place.required : [];
  const entries = Object.entries(part).flatMap(([name, field]) => {
    const own = Object.hasOwn(properties, name) ? properties[name] : place.additionalProperties;
    if (field === null && !required.includes(name) && violations(own ?? true, null, fitting.root).length > 0) {
      fitting.mended.add(NULL_FOR_ABSENT);
      return [];
    }
    return [[name, partOf(field, own, fitting)] as const];
  });
  return Object.fromEntries(entries);
}
