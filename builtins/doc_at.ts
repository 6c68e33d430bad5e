import { defineBuiltin, integer } from "./define.ts";

export const doc_at = defineBuiltin({
  name: "doc_at",
  signature: "function doc_at(offset: number): DocumentPlace | null",
  summary:
    "The document that holds an offset of P, with the line, column and page there. Between two documents it gives the beginning of the one that follows, behind the last one null.",
  example: "doc_at(200)",
  errors: { context_not_loaded: "no context is loaded" },
  types: `interface DocumentPlace {
  /** The document's id, as in list_docs(). */
  id: string;
  /** Its range in P. */
  start: number;
  end: number;
  /** In the document, from 1. */
  line: number;
  /** In the line, from 1, UTF-16 units. */
  column: number;
  /**
   * The part of a converted document: p.12, slide 3, Sales!17 (a row), cell 7, body. null in other
   * texts.
   */
  place: string | null;
}`,
  params: { offset: integer },
  run(services, { offset }, scope) {
    const context = services.context();
    scope.offClock(() => context.prepareLines());
    const place = context.place(offset);
    return place && { ...place };
  },
});
