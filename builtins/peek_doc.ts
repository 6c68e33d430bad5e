import { defineBuiltin, integer, optional, string } from "./define.ts";

export const peek_doc = defineBuiltin({
  name: "peek_doc",
  signature: "function peek_doc(doc_id: string, start?: number, end?: number): string",
  summary:
    "Characters start..end of one document, by its id from list_docs() (offsets within the document, UTF-16 units, clamped); the whole document without offsets, an empty string if there is no such document.",
  example: "const first = list_docs()[0];\nfirst ? peek_doc(first.id, 0, 100) : null",
  errors: { context_not_loaded: "no context is loaded", js_error: "an offset is not an integer" },
  params: { doc_id: string, start: optional(integer), end: optional(integer) },
  run(services, { doc_id, start = 0, end = Number.MAX_SAFE_INTEGER }) {
    const context = services.context();
    const document = context.documentNamed(doc_id);
    if (!document) return "";
    const within = (offset: number) => Math.min(Math.max(offset, 0), document.size);
    return context.slice(document.start + within(start), document.start + within(end));
  },
});
