// Tools are listed with this file before anything that works with contexts is loaded.

/** The sentences that tell a model what works of a large P; null for one that is a string. */
export function largeNote({ large }: { readonly large?: true }): string | null {
  return large === true ? LARGE_NOTE : null;
}

const LARGE_NOTE =
  "P is too large to be a string in cells: P.length, P[i], P.slice(start, end), P.indexOf, P.includes and P.startsWith work. P.split, P.match, templates and loops over P throw: use find, count, search, peek, list_docs and peek_doc. Calls with a context take places of P, such as [start, end].";
