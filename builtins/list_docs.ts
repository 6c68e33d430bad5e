import { LIMITS } from "../runtime/index.ts";
import { defineBuiltin, optional, string } from "./define.ts";

export const list_docs = defineBuiltin({
  name: "list_docs",
  signature: "function list_docs(prefix?: string): DocumentEntry[]",
  summary:
    "Documents of the context in order, those whose id begins with prefix where it is given; at most 1000 (warning `list_docs_capped`).",
  example: "list_docs().slice(0, 3).map(({ id, size }) => ({ id, size }))",
  errors: { context_not_loaded: "no context is loaded" },
  types: `interface DocumentEntry {
  /** Relative path; names the document in peek_doc. */
  id: string;
  /** Where it was loaded from. */
  path: string;
  /** UTF-16 units. */
  size: number;
  /** Offsets in P. */
  start: number;
  end: number;
}`,
  params: { prefix: optional(string) },
  run(services, { prefix = "" }, scope) {
    const listed = services.context().documents.filter(({ id }) => id.startsWith(prefix));
    if (listed.length > LIMITS.listedDocuments) scope.warn("list_docs_capped");
    return listed
      .slice(0, LIMITS.listedDocuments)
      .map(({ id, path, size, start, end }) => ({ id, path, size, start, end }));
  },
});
