import { type ContextServices, type HistoryServices, noConversation } from "../../../builtins/index.ts";
import { type Json, RlmError } from "../../../runtime/index.ts";
import { touchedIn } from "../journal/coverage.ts";
import type { HistoryText, TextMessage } from "./context-message.ts";

type Opened = ContextServices & Disposable;

/**
 * Opens the conversation that cells read as `history`, in the machine's thread.
 *
 * @param open makes what builtins read of a context
 */
export function openConversation(open: (message: TextMessage) => Opened) {
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
