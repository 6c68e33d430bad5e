import * as v from "valibot";
import { SAMPLING } from "../../../runtime/index.ts";
import type { CallDescription } from "./call-description.ts";
import { type Asked, type CallPlace, isSameText, type pairsOf, placeOf, promptOf } from "./common-past.ts";
import type { DocumentsFound } from "./compared-documents.ts";
import type { SessionDescription } from "./description.ts";
import type { ExecDescription } from "./exec-description.ts";

/** Reasons why a call was asked `again`, and those of a `new` one. */
export type Why =
  | ("has tools" | "failed before" | "model changed" | "settings changed" | "cache off" | "not in the cache")
  | ("document changed" | "cell changed" | "answer above changed");

/** The reason why a call was asked. */
export interface Reason {
  /** null: the records do not tell it, and of a call that is gone. */
  readonly why: Why | null;
  /** Ids of the documents that changed and that the prompt has text of, three at most. */
  readonly documents: readonly string[];
  /** The call above whose answer changed. */
  readonly above: CallPlace | null;
}

export const NO_REASON: Reason = { why: null, documents: [], above: null };

/** Opens what tells why a call was asked. It has to see the calls of the newer session in order. */
export function openReasons(
  now: SessionDescription,
  before: SessionDescription,
  { pairs, documents }: { readonly pairs: ReturnType<typeof pairsOf>; readonly documents: DocumentsFound | null },
) {
  const own = usedIn(now);
  const others = usedIn(before);
  const isOther = (exec: ExecDescription) => !NO_CELLS.has(exec.kind) && !pairs.has(exec);
  const otherCell = now.execs.find(isOther)?.number ?? Number.POSITIVE_INFINITY;
  /** The first answer that changed. */
  let changed: Asked | null = null;

  return {
    ofAgain({ exec, call }: Asked, { call: older }: Asked): Why {
      if (exec.turn || !isPlain(call)) return "has tools";
      if (older.status === "failed") return "failed before";
      if (call.model !== "" && older.model !== "" && call.model !== older.model) return "model changed";
      if (own && others && own.asked !== others.asked) return "settings changed";
      return own && !own.cache ? "cache off" : "not in the cache";
    },
    /** Returns what tells the reason, if the call is new. */
    ofNew(one: Asked, was: Asked | null): () => Reason {
      const { exec, call } = one;
      const above = changed && isAbove(changed.call, call) ? placeOf(changed) : null;
      const isChanged = was === null || !isSameText(call.answer, was.call.answer);
      if (isChanged && call.ended_at !== null && call.ended_at < (changed?.call.ended_at ?? Number.POSITIVE_INFINITY)) {
        changed = one;
      }
      return () => {
        const prompt = promptOf(one);
        const proven = documents?.proof(prompt) ?? [];
        if (proven.length > 0) return { ...NO_REASON, why: "document changed", documents: proven };
        if (!exec.turn && !pairs.has(exec)) return { ...NO_REASON, why: "cell changed" };
        if (above) return { ...NO_REASON, why: "answer above changed", above };
        const { changed: some = 0, new: more = 0, gone = 0 } = documents?.told ?? {};
        if (some + more + gone > 0) {
          return { ...NO_REASON, why: "document changed", documents: documents?.likely(prompt) ?? [] };
        }
        return exec.number > otherCell ? { ...NO_REASON, why: "cell changed" } : NO_REASON;
      };
    },
  };
}

const NO_CELLS: ReadonlySet<string> = new Set(["load", "append", "turn"]);

/** True if the answer was there before the other call was made. Calls of one batch are made at once. */
function isAbove({ asked_at, ended_at }: CallDescription, call: CallDescription): boolean {
  return ended_at !== null && ended_at <= call.asked_at && asked_at < call.asked_at;
}

/** True for a call whose answer the cache may have. */
function isPlain({ name, args: [, options] }: CallDescription): boolean {
  return name !== "rlm_query" && v.is(Plain, options);
}

const NONE = v.strictTuple([]);
const Plain = v.union([NONE, v.object({ tools: NONE, context: v.optional(v.undefined()) })]);

/** The settings that decide whether an answer is in the cache; null if they are not recorded. */
function usedIn({ settings }: SessionDescription): { readonly cache: boolean; readonly asked: string } | null {
  const read = v.safeParse(Used, settings);
  if (!read.success) return null;
  const { cache, settings: asked } = read.output;
  return { cache, asked: JSON.stringify(asked) };
}

const Used = v.object({
  cache: v.optional(v.boolean(), false),
  settings: v.object({
    base_url: v.optional(v.string()),
    thinking: v.optional(v.string(), "off"),
    ...SAMPLING,
  }),
});
