import * as v from "valibot";
import type { Json } from "../../../runtime/index.ts";
import type { Context } from "../../context/index.ts";

/**
 * A clause about a document that another reader made into text than the one that does now; null if none is known. A file that has
 * changed itself tells nothing about its reader.
 * @param kept the index of the context as the store has it
 */
export function changedReader(kept: Json, { documents }: Pick<Context, "documents">): string | null {
  const read = v.safeParse(IndexSchema, kept);
  const before = new Map(read.success ? read.output.documents.map(({ id, original }) => [id, original]) : []);
  for (const { id, original } of documents) {
    const first = before.get(id);
    if (!first || first.reader === original?.reader || (original && first.sha256 !== original.sha256)) continue;
    const now = original ? `this is ${original.reader}` : "now it is loaded as it is";
    return `the text of ${id} was made by ${first.reader}, ${now}`;
  }
  return null;
}

const IndexSchema = v.object({
  documents: v.array(
    v.object({ id: v.string(), original: v.exactOptional(v.object({ reader: v.string(), sha256: v.string() })) }),
  ),
});
