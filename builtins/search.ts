import * as v from "valibot";
import { type CallScope, hasCode, LIMITS } from "../runtime/index.ts";
import { defineBuiltin, integer, optional, string } from "./define.ts";
import type { ContextServices } from "./services.ts";

const atLeastOne = v.pipe(integer, v.minValue(1, "must be at least 1"));

export const search = defineBuiltin({
  name: "search",
  signature: "function search(query: string, k?: number): SearchHit[]",
  summary:
    "BM25 full-text search over chunks of about 1,500 characters, best first; k is 10 by default and at most 100. Finds other forms of a word (connections: connection; the word itself counts more) and parts of identifiers (camelCase, snake_case). The first search of a context builds its index, in the exec's time; if that is over, the next search goes on. The index of a P over 100 MB or 10,000 documents takes none of the exec's time.",
  example: 'search("error handling", 3).map(({ doc_id, line, score }) => ({ doc_id, line, score }))',
  errors: {
    context_not_loaded: "no context is loaded",
    search_too_large: "the index would be too large; find works without it",
    search_unavailable: "the index cannot be written or opened; find works without it",
    js_error: "an argument is of the wrong type, or k is below 1",
  },
  types: `interface SearchHit {
  /** The chunk: P.slice(start, end). */
  text: string;
  /** BM25, higher is better. */
  score: number;
  start: number;
  end: number;
  /**
   * The document that it is of, and the number of the line there that has most of the words, from
   * 1.
   */
  doc_id: string;
  line: number;
  /** The place in P at which that line begins. */
  at: number;
  /** Present in converted documents: the part with that line, such as p.12. */
  place?: string;
}`,
  params: { query: string, k: optional(atLeastOne) },
  run(services, { query, k = 10 }, scope) {
    const context = services.context();
    prepare(context, scope);
    scope.offClock(() => context.prepareLines());
    return context.search(query, Math.min(k, LIMITS.searchResults)).map((hit) => {
      const { id = "", line = 1, place = null } = context.place(hit.at) ?? {};
      return { ...hit, doc_id: id, line, ...(place === null ? {} : { place }) };
    });
  },
});

/** Makes the index. If the exec's time ends before, it says what is kept. */
function prepare(context: ContextServices, scope: CallScope): void {
  let done = "0 %";
  function tell(fraction: number): void {
    done = `${Math.floor(fraction * 100)} %`;
    scope.notice(`indexing for search: ${done}`);
  }
  try {
    const make = () => context.prepareSearch(tell, scope.checkTime);
    // The index of a large P takes longer than cells have.
    if (context.isLarge) scope.offClock(make);
    else make();
  } catch (error) {
    if (hasCode(error, "js_timeout")) scope.warn(`search_index_unfinished: ${done} is kept`);
    throw error;
  }
}
