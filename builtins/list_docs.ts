import * as v from "valibot";
import { LIMITS } from "../runtime/index.ts";
import { defineBuiltin, optional, string } from "./define.ts";
import type { DocumentEntry } from "./services.ts";

const count = (least: number) => {
  const what = `must be a whole number of ${least} or more`;
  return v.exactOptional(v.pipe(v.number(what), v.integer(what), v.minValue(least, what)));
};
const Page = v.strictObject({ from: count(0), limit: count(1) }, "must be { from, limit }");

export const list_docs = defineBuiltin({
  name: "list_docs",
  signature: "function list_docs(prefix?: string, page?: { from?: number; limit?: number }): DocumentEntry[]",
  summary:
    "Documents of P whose id begins with prefix, in order; at most `limit` of them, 1000 at the most, beginning with number `from`, counted from 0. If there are more than 1000, a warning says how to go on.",
  example: "list_docs().slice(0, 3).map(({ id, size }) => ({ id, size }))",
  errors: { context_not_loaded: "no context is loaded" },
  types: `interface DocumentEntry {
  /** Relative path; names the document in peek_doc. */
  id: string;
  /** The path that it was loaded from. */
  path: string;
  /** UTF-16 units. */
  size: number;
  /** Offsets in P. */
  start: number;
  end: number;
  /** text, or what it was converted from: pdf, docx, … */
  kind: string;
  /** Its pages, slides, sheets, cells and the like, which doc_at names. */
  places: number;
  /** The id of a newer text of the same file, if it had changed when it was appended again. */
  replaced_by?: string;
}`,
  params: { prefix: optional(string), page: optional(Page) },
  run(services, { prefix = "", page = {} }, scope) {
    const { from, limit } = page;
    const listed = services.context().documentsBegunWith(prefix);
    const first = from ?? 0;
    const end = first + Math.min(limit ?? LIMITS.listedDocuments, LIMITS.listedDocuments);
    // A cell that says where to begin, or how many it wants, pages without being told to.
    const isPaging = limit === undefined ? from !== undefined : limit <= LIMITS.listedDocuments;
    if (listed.length > end && !isPaging) {
      const rest = `go on with list_docs(${JSON.stringify(prefix)}, { from: ${end}, limit: ${LIMITS.listedDocuments} })`;
      scope.warn(`list_docs_capped: ${end - first} of ${listed.length} documents were listed; ${rest}`);
    }
    return listed.slice(first, end).map(({ id, path, size, start, end, original, places = [], replaced_by }) => {
      const entry = { id, path, size, start, end, kind: original?.kind ?? "text", places: named(places).length };
      return replaced_by === undefined ? entry : { ...entry, replaced_by };
    });
  },
});

/** Behind the last place that a context can name stands one without a label. */
const named = (places: NonNullable<DocumentEntry["places"]>) => places.filter(([, label]) => label !== "");
