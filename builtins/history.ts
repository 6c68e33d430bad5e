import type { CallScope, Json } from "../runtime/index.ts";
import type { Builtin, Defined, HostFunction } from "./define.ts";
import { find } from "./find.ts";
import { list_docs } from "./list_docs.ts";
import { peek } from "./peek.ts";
import { peek_doc } from "./peek_doc.ts";
import { search } from "./search.ts";
import { stats } from "./stats.ts";
import { OF_HISTORY } from "./sub-call.ts";

/** The conversation as a context of its own: what the builtins of P do, over the text H. */
export const history: Builtin = {
  name: "history",
  signature: `history.list_docs(prefix?: string, page?: { from?: number; limit?: number }): HistoryDocument[]
history.peek(start: number, end: number, of?: "history"): string
history.peek_doc(id: string, start?: number, end?: number): string
history.find(pattern: string | RegExp, flags?: string): HistoryMatches
history.find(pattern: string | RegExp, flags: string | undefined, options: { docs: true }): FoundPlaces
history.search(query: string, k?: number): SearchHit[]
history.stats(): Stats`,
  summary:
    "The conversation in which the cell is run, as a text of its own, H: a document for each message, as it was when the call began. Its functions do for H what those of the same names do for P; offsets are offsets of H. peek_doc takes the id of an object too, or a beginning of one. Its places can be the `context` of a sub-call. There is a conversation in Pi alone.",
  brief:
    "The same over this conversation, whole and however old: a document for each message, with its object; offsets are its own, not P's",
  example: "typeof history.find",
  types: `/** Places of the history say that they are of it: \`of\` is "history" in documents, hits and places. */
interface HistoryMatches {
  /** Places of H, in order. */
  matches: [start: number, end: number, of: "history"][];
  capped: boolean;
}
interface HistoryDocument extends DocumentEntry {
  /** \`rlm-obj-\` and 12 hex digits. */
  object: string;
  of: "history";
}`,
  errors: {
    context_not_loaded: "there is no conversation here",
    context_lost: "the conversation is not the one that the cell began with",
  },
  source: new URL("./history.guest.js", import.meta.url),
  host: {
    "history.list_docs": (services, args, scope) => {
      const { objectOf } = services.history();
      return ofHistory(overHistory(list_docs, services, args, scope), (document) => ({
        object: objectOf(document.id),
      }));
    },
    // So that history.peek(...match) works, as peek(...match) does for a match in P.
    "history.peek": (services, args, scope) =>
      overHistory(peek, services, args[2] === OF_HISTORY ? args.slice(0, 2) : args, scope),
    "history.peek_doc": (services, [id = "", ...range], scope) => {
      const named = typeof id === "string" ? (services.history().documentOf(id) ?? id) : id;
      return overHistory(peek_doc, services, [named, ...range], scope);
    },
    "history.find": (services, args, scope) => {
      const found = overHistory(find, services, args, scope);
      if (!isRecord(found) || !Array.isArray(found.matches)) return found;
      return { ...found, matches: ofHistory(found.matches) };
    },
    "history.search": (...call) => ofHistory(overHistory(search, ...call)),
    "history.stats": (...call) => overHistory(stats, ...call),
  },
};

/** Runs a builtin of P with H instead of P. */
function overHistory(
  { run }: Defined,
  services: Parameters<HostFunction>[0],
  args: readonly Json[],
  scope: CallScope,
): Json {
  const conversation = services.history();
  return run({ ...services, context: () => conversation, loaded: () => conversation }, args, scope);
}

/** Says of places that they are of the history: their offsets mean nothing in P. */
function ofHistory(places: Json, more: (place: { readonly [field: string]: Json }) => object = () => ({})): Json {
  if (!Array.isArray(places)) return places;
  return places.map((place) => {
    if (isRecord(place)) return { ...place, ...more(place), of: OF_HISTORY };
    return Array.isArray(place) ? [...place, OF_HISTORY] : place;
  });
}

const isRecord = (value: Json | undefined): value is { readonly [field: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value);
