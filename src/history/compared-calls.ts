import * as v from "valibot";
import { type Json, SAMPLING } from "../../runtime/index.ts";
import { redactedStart } from "../platform/redact.ts";
import { hashOf } from "../session/journal/records.ts";
import type { CallDescription, ExecDescription, SessionDescription } from "./api.ts";
import type { Comparing, DocumentsFound } from "./compared-documents.ts";

/** The place of a call in a session, as `belay show` numbers it. */
interface CallPlace {
  readonly exec: number;
  readonly call: number;
}

/** Reasons why a call was asked `again`, and those of a `new` one. */
type Why =
  | ("has tools" | "failed before" | "model changed" | "settings changed" | "cache off" | "not in the cache")
  | ("document changed" | "cell changed" | "answer above changed");

/** The reason why a call was asked. */
interface Reason {
  /** null: the records do not tell it, and of a call that is gone. */
  readonly why: Why | null;
  /** Ids of the documents that changed and that the prompt has text of, three at most. */
  readonly documents: readonly string[];
  /** The call above whose answer changed. */
  readonly above: CallPlace | null;
}

/**
 * A call that neither the common past nor the cache answered. The place of one that is
 * `gone` is in the other session.
 */
export interface ComparedCall extends CallPlace, Reason {
  /**
   * `again`: the other session asked the same. `new`: it did not. `gone`:
   * only the other session asked it.
   */
  readonly is: "again" | "new" | "gone";
  /** The call of the other session that asked the same, or that stood in its place. */
  readonly was: CallPlace | null;
  readonly cost_usd: number;
  /** The beginning of the prompt. */
  readonly words: string;
}

/** The calls with which both sessions begin. */
interface Past {
  /** Both have the same records: one is a fork of the other, or both are forks. */
  readonly is_shared: boolean;
  readonly calls: number;
  /** The last of them; null: there is none. */
  readonly last: CallPlace | null;
}

export interface ComparedCalls {
  readonly past: Past;
  /**
   * `same`: answered from the cache, or in a shared past. `replaced`: those of `new` that replace
   * one that is gone.
   */
  readonly counts: Readonly<Record<ComparedCall["is"] | "same" | "replaced", number>>;
  /** Dollars of the calls that were asked again or are new. */
  readonly cost_usd_asked: number;
  /** Those asked again, then new ones, then those that are gone: the first of each. */
  readonly calls: readonly ComparedCall[];
}

/** A call with its exec, and the hash of what it asks, wherever it stands. */
interface Asked {
  readonly exec: ExecDescription;
  readonly call: CallDescription;
  readonly hash: string;
}

/** Execs of the older session by those of the newer one. */
type Pairs = ReadonlyMap<ExecDescription, ExecDescription>;

/** Compares the calls of two sessions. */
export function compareCalls(
  now: SessionDescription,
  before: SessionDescription,
  documents: DocumentsFound | null,
  { listed, clean }: Required<Comparing>,
): ComparedCalls {
  const calls = askedIn(now);
  const olders = askedIn(before);
  const pairs = pairsOf(now, before);
  const { past, isPast } = pastOf(calls, olders, pairs);
  const left = Map.groupBy(olders.filter(({ call }) => !isPast(call)).toReversed(), ({ hash }) => hash);
  const matched = new Set<CallDescription>();
  const counts = { same: 0, again: 0, new: 0, gone: 0 };
  const lists: Record<ComparedCall["is"], ComparedCall[]> = { again: [], new: [], gone: [] };
  let cost_usd_asked = 0;
  const reasons = openReasons(now, before, { pairs, documents });

  function add(is: ComparedCall["is"], { exec, call }: Asked, was: Asked | null, why: Reason = NO_REASON): void {
    const words = redactedStart(promptOf({ exec, call }), WORDS, clean);
    const told = { ...why, documents: why.documents.map(clean), was: was && placeOf(was), words };
    lists[is].push({ is, ...placeOf({ exec, call }), ...told, cost_usd: call.cost_usd });
  }

  const fresh: Fresh[] = [];
  /** By the exec of the newer session, the number of the call of its pair that was met last. */
  const met = new Map<ExecDescription, number>();
  for (const one of calls) {
    const isShared = isPast(one.call);
    const was = isShared ? null : (left.get(one.hash)?.pop() ?? null);
    const pair = pairs.get(one.exec);
    if (was) matched.add(was.call);
    if (isShared || (was && was.exec === pair)) met.set(one.exec, (was ?? one).call.number);
    if (isShared || one.call.cached) counts.same++;
    else cost_usd_asked += one.call.cost_usd;
    if (isShared) continue;
    const why = reasons.ofNew(one, was);
    if (one.call.cached) continue;
    if (!was) fresh.push({ one, why, gap: pair ? `${pair.number}.${met.get(one.exec) ?? 0}` : "" });
    else if (counts.again++ < listed) add("again", one, was, { ...NO_REASON, why: reasons.ofAgain(one, was) });
  }
  const gone = olders.filter(({ call }) => !matched.has(call) && !isPast(call));
  const { standIns, replaced } = pairsInGaps(fresh, olders, new Set(gone));
  for (const { one, why } of fresh) {
    if (counts.new++ < listed) add("new", one, standIns.get(one) ?? null, why());
  }
  for (const one of gone) if (counts.gone++ < listed) add("gone", one, null);
  const told = { ...counts, replaced };
  return { past, counts: told, cost_usd_asked, calls: [...lists.again, ...lists.new, ...lists.gone] };
}

/**
 * A call that the other session did not make, and the place there: the pair of
 * its exec, and the call before it.
 */
interface Fresh {
  readonly one: Asked;
  readonly why: () => Reason;
  readonly gap: string;
}

/**
 * New calls between two that both sessions made stand in for those that are gone there. Which for
 * which is known if they are as many.
 */
function pairsInGaps(fresh: readonly Fresh[], olders: readonly Asked[], gone: ReadonlySet<Asked>) {
  let exec = 0;
  let before = 0;
  const left = Map.groupBy(olders, (one) => {
    if (one.exec.number !== exec) [exec, before] = [one.exec.number, 0];
    if (gone.has(one)) return `${exec}.${before}`;
    before = one.call.number;
    return null;
  });
  const standIns = new Map<Asked, Asked>();
  let replaced = 0;
  for (const [gap, made] of Map.groupBy(fresh, (one) => one.gap)) {
    const there = left.get(gap) ?? [];
    replaced += Math.min(made.length, there.length);
    if (made.length !== there.length) continue;
    for (const [at, { one }] of made.entries()) standIns.set(one, there[at] ?? one);
  }
  return { standIns, replaced };
}

/** UTF-16 units of a prompt that are listed. */
const WORDS = 120;

const placeOf = ({ exec, call }: Pick<Asked, "exec" | "call">) => ({ exec: exec.number, call: call.number });

/** The prompt; of a turn what it added to the conversation. */
const promptOf = ({ exec, call }: Pick<Asked, "exec" | "call">): string =>
  call.prompt ?? exec.turn?.messages.join("\n") ?? "";

function askedIn({ execs }: SessionDescription): Asked[] {
  return execs.flatMap((exec) => exec.calls.map((call) => ({ exec, call, hash: hashAsked(exec, call) })));
}

/** The number of a batch is left out. A turn asks with what it added to the conversation. */
function hashAsked({ turn }: ExecDescription, { name, args }: CallDescription): string {
  return hashOf([name, ...(turn ? turn.messages : args.slice(0, 2))]);
}

/** Pairs execs with the same id, else with the same text, in order. */
function pairsOf(now: SessionDescription, before: SessionDescription): Pairs {
  const ids = new Map(before.execs.map((exec) => [exec.exec_id, exec]));
  const known = new Set(now.execs.map(({ exec_id }) => exec_id));
  const textOf = ({ kind, source }: ExecDescription) => JSON.stringify([kind, source]);
  const rest = Map.groupBy(before.execs.filter(({ exec_id }) => !known.has(exec_id)).toReversed(), textOf);
  return new Map(
    now.execs.flatMap((exec) => {
      const pair = ids.get(exec.exec_id) ?? rest.get(textOf(exec))?.pop();
      return pair ? [[exec, pair] as const] : [];
    }),
  );
}

/**
 * The calls with which both begin: with the same records, or with the same cells,
 * questions and answers in order.
 */
function pastOf(
  calls: readonly Asked[],
  olders: readonly Asked[],
  pairs: Pairs,
): { readonly past: Past; isPast(call: CallDescription): boolean } {
  const [first] = pairs;
  const is_shared = first !== undefined && first[0].exec_id === first[1].exec_id;
  const ids = new Map(olders.map(({ call }) => [call.call_id, call]));
  const end = calls.findIndex((one, at) => !isAlike(one, olders[at], pairs));
  // Answers of a batch are recorded in any order, so what is shared may have gaps.
  const shared = is_shared ? calls.filter(({ call }) => isOneRecord(call, ids.get(call.call_id))) : [];
  const both = is_shared ? shared : calls.slice(0, end < 0 ? calls.length : end);
  const last = both.at(-1);
  const known = new Set(shared.map(({ call }) => call.call_id));
  const past = { is_shared, calls: both.length, last: last ? placeOf(last) : null };
  return { past, isPast: ({ call_id }) => known.has(call_id) };
}

function isOneRecord({ asked_at, ended_at }: CallDescription, other: CallDescription | undefined): boolean {
  return ended_at !== null && other?.ended_at === ended_at && other.asked_at === asked_at;
}

function isAlike(one: Asked, other: Asked | undefined, pairs: Pairs): boolean {
  if (one.hash !== other?.hash || pairs.get(one.exec) !== other.exec) return false;
  return one.call.status !== "pending" && isSameText(one.call.answer, other.call.answer);
}

const isSameText = (one: Json, other: Json) => JSON.stringify(one) === JSON.stringify(other);

const NO_REASON: Reason = { why: null, documents: [], above: null };

/** Opens what tells why a call was asked. It has to see the calls of the newer session in order. */
function openReasons(
  now: SessionDescription,
  before: SessionDescription,
  { pairs, documents }: { readonly pairs: Pairs; readonly documents: DocumentsFound | null },
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

/**
 * True if the answer was there before the other call was made. Calls of one batch are made at
 * once.
 */
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
