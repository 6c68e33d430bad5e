import {
  type Builtin,
  type ContextServices,
  contextNotLoaded,
  createLibrary,
  type FunctionFacts,
  factsOf,
  type HistoryServices,
  manyCharacters,
  noConversation,
  tooLargeForP,
} from "../../../builtins/index.ts";
import { argumentError, type Json, type Library, type LibraryOver, RlmError } from "../../../runtime/index.ts";
import { compileFind, count, find, openPlaces, openText, partsOf, toldSkips } from "../../context/index.ts";
import { openRoutes } from "../../context/routes/routes.ts";
import { openSearchIndex, type SearchIndex } from "../../context/search/search.ts";
import { jsonOf } from "../../platform/json.ts";
import { touchedIn } from "../journal/coverage.ts";
import type { ContextMessage, HistoryText, TextMessage } from "./context-message.ts";
import { type CoverageCount, openCoverage } from "./coverage.ts";

/** The library that a session's machine puts into its guest: builtins over the context that the session sends. */
export function openLibrary(defined?: readonly Builtin[]): Library<ContextMessage> {
  const services = openServices();
  const receive = (message: ContextMessage) => {
    if ("functions" in message) return void services.lend(message.functions);
    if ("history" in message) return void services.conversation.use(message.history);
    services.use(message);
    return { command: "P.forget" };
  };
  return { ...createLibrary(services, receive, defined), exec: services.exec, close: services.close };
}

/** Opens the services of builtins in the machine's thread: the context that the host sent last. */
export function openServices() {
  let current: LoadedContext | undefined;
  const conversation = openConversation(contextServices);
  let lent: readonly FunctionFacts[] = [];
  return {
    functions: () => lent,
    lend(functions: readonly FunctionFacts[]): void {
      lent = functions;
    },
    conversation,
    history: conversation.read,
    loaded: () => current,
    context(): ContextServices {
      if (!current) throw contextNotLoaded();
      return current;
    },
    use(message: TextMessage): void {
      current?.[Symbol.dispose]();
      current = contextServices(message);
    },
    /** Keeps what an exec looks at of the context. */
    exec: {
      begin() {
        current?.coverage.begin();
        conversation.begin();
      },
      resume(kept: Json) {
        current?.coverage.resume(kept);
        conversation.resume(kept);
      },
      kept(over: LibraryOver | null) {
        const end = over && { ...over, isForModel: factsOf(over).for_model };
        return conversation.withTouched(current?.coverage.kept(end) ?? null);
      },
    },
    /** The context is not needed any more. */
    close(): void {
      current?.[Symbol.dispose]();
      current = undefined;
      conversation.use(null);
    },
  };
}

/** Skipped files that `stats()` lists: a cell that prints it is read by a model. */
const SKIPS_IN_CELLS = 100;

type LoadedContext = ContextServices & Disposable & { readonly coverage: CoverageCount };

function contextServices(message: TextMessage): LoadedContext {
  const text = openText(message.text);
  const coverage = openCoverage(text, message.hash, message.given);
  const { large } = text;
  const documents = large?.documents() ?? message.documents;
  const places = openPlaces(text, documents);
  const routes = openRoutes(message.routes);
  const { indexDir: dir, indexRoom: room = Number.POSITIVE_INFINITY } = message;
  let index: SearchIndex | undefined;
  return {
    hash: message.hash,
    sources: message.stats.sources,
    converted: jsonOf(message.stats.converted),
    skipped: jsonOf(toldSkips(message.stats.skipped, SKIPS_IN_CELLS)),
    length: text.length,
    lines: message.stats.line_count,
    documents,
    documentNamed: (id) => (large ? large.documents().named(id) : message.documents.find((one) => one.id === id)),
    documentFrom: places.documentFrom,
    documentsBegunWith: (prefix) =>
      large?.documents().begunWith(prefix) ?? message.documents.filter(({ id }) => id.startsWith(prefix)),
    slice(start, end) {
      if (large) checkSlice(Math.max(start, 0), Math.min(end, text.length));
      coverage.given(start, end, "given");
      return text.slice(start, end);
    },
    isLarge: large !== undefined,
    utf8() {
      if ("bytes" in text.data) return text.data.bytes;
      throw tooLargeForP(text.length);
    },
    indexOf: (part, from, between) => large?.indexOf(part, from, between) ?? -1,
    find: (pattern, flags, limit, between) => find(text, compileFind(pattern, flags), limit, between),
    count: (pattern, flags, between) => count(text, compileFind(pattern, flags), between),
    prepareLines: places.prepare,
    place: places.at,
    lineText: places.lineText,
    prepareSearch(onProgress, between) {
      const source = { text, documents: { [Symbol.iterator]: () => partsOf(documents) }, hash: message.hash };
      index ??= available(() => openSearchIndex(source, { dir, room, onProgress, between }));
    },
    search(query, k) {
      try {
        const hits = available(() => index?.search(query, k) ?? []);
        for (const { start, end } of hits) coverage.given(start, end, "ranked");
        return hits;
      } catch (error) {
        // One that fails is damaged: the next search opens it anew.
        index?.[Symbol.dispose]();
        index = undefined;
        throw error;
      }
    },
    coverage,
    routes: (topic, limit) => routes.find(topic, limit),
    [Symbol.dispose]() {
      index?.[Symbol.dispose]();
      text[Symbol.dispose]();
    },
  };
}

/** UTF-16 units of a large P that are copied at once: a small P has hardly more. */
const MOST_COPIED = 100_000_000;

/** @throws RlmError for more units of a large P than a cell could hold */
function checkSlice(start: number, end: number): void {
  if (end - start <= MOST_COPIED) return;
  const most = manyCharacters(MOST_COPIED);
  throw argumentError(
    "RangeError",
    `${manyCharacters(end - start)} would be copied into the cell at once (limit ${most})`,
    "Read parts one after the other, or use find, count and search.",
  );
}

function available<T>(work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (cause instanceof RlmError) throw cause;
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : "unknown reason";
    const reason = code === "ENOSPC" || code === "EDQUOT" ? `${code}: the disk is full` : code;
    throw new RlmError("search_unavailable", `the search index could not be written (${reason})`, {
      suggestion: "Free space, or set BELAY_HOME to a folder that can be written; find works without an index.",
      cause,
    });
  }
}

type Opened = ContextServices & Disposable;

/**
 * Opens the conversation that cells read as `history`, in the machine's thread.
 *
 * @param open makes what builtins read of a context
 */
function openConversation(open: (message: TextMessage) => Opened) {
  let given: HistoryText | null = null;
  let opened: (HistoryServices & Disposable) | null = null;
  let isTouched = false;
  return {
    /** The conversation of the next exec; null: there is none. */
    use(history: HistoryText | null): void {
      opened?.[Symbol.dispose]();
      opened = null;
      given = history;
      isTouched = false;
    },
    /** @throws RlmError `context_not_loaded`, `context_lost` */
    read(): HistoryServices {
      if (!given) throw noConversation();
      if ("lost" in given) throw lost(given.lost);
      isTouched = true;
      opened ??= { ...open(given.message), ...namesIn(given.message, given.objects) };
      return opened;
    },
    begin(): void {
      isTouched = false;
    },
    resume(kept: Json): void {
      isTouched = touchedIn(kept) !== null;
    },
    /** The kept state of an exec, with the hash of the conversation once a cell has touched it. */
    withTouched(kept: { readonly [field: string]: Json } | null): Json {
      if (!isTouched || !given || "lost" in given) return kept;
      return { ...kept, history_hash: given.message.hash };
    },
  };
}

function namesIn(
  { documents }: TextMessage,
  objects: readonly string[],
): Pick<HistoryServices, "objectOf" | "documentOf"> {
  const byDocument = new Map(documents.map(({ id }, index) => [id, objects[index] ?? ""]));
  return {
    objectOf: (document) => (typeof document === "string" ? (byDocument.get(document) ?? "") : ""),
    documentOf(object) {
      const digits = /^(?:rlm-obj-)?([0-9a-f]{6,12})$/i.exec(object)?.[1];
      if (digits === undefined) return undefined;
      const begun = `rlm-obj-${digits.toLowerCase()}`;
      const meant = new Set(objects.filter((id) => id.startsWith(begun)));
      if (meant.size > 1) throw ambiguous(object, [...meant]);
      return documents[objects.findIndex((id) => meant.has(id))]?.id;
    },
  };
}

function ambiguous(object: string, meant: readonly string[]): RlmError {
  return new RlmError("object_ambiguous", `${object} can be ${meant.slice(0, SHOWN).join(", ")}`, {
    suggestion: "Give more digits of the id, or the id of the document.",
  });
}

const SHOWN = 5;

function lost(why: string): RlmError {
  return new RlmError("context_lost", `the conversation that the cell began with is lost: ${why}`, {
    suggestion: "Run the cell again.",
  });
}
