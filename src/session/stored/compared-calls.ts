import { redactedStart } from "../../platform/redact.ts";
import type { CallDescription } from "./call-description.ts";
import { type Asked, askedIn, type CallPlace, type Past, pairsOf, pastOf, placeOf, promptOf } from "./common-past.ts";
import type { Comparing, DocumentsFound } from "./compared-documents.ts";
import type { SessionDescription } from "./description.ts";
import type { ExecDescription } from "./exec-description.ts";
import { NO_REASON, openReasons, type Reason } from "./why-asked.ts";

/** A call that neither the common past nor the cache answered. The place of one that is `gone` is in the other session. */
export interface ComparedCall extends CallPlace, Reason {
  /** `again`: the other session asked the same. `new`: it did not. `gone`: only the other session asked it. */
  readonly is: "again" | "new" | "gone";
  /** The call of the other session that asked the same, or that stood in its place. */
  readonly was: CallPlace | null;
  readonly cost_usd: number;
  /** The beginning of the prompt. */
  readonly words: string;
}

export interface ComparedCalls {
  readonly past: Past;
  /** `same`: answered from the cache, or in a shared past. `replaced`: those of `new` in the place of one that is gone. */
  readonly counts: Readonly<Record<ComparedCall["is"] | "same" | "replaced", number>>;
  /** Dollars of the calls that were asked again or are new. */
  readonly cost_usd_asked: number;
  /** Those asked again, then new ones, then those that are gone: the first of each. */
  readonly calls: readonly ComparedCall[];
}

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

/** A call that the other session did not make, and the place there: the pair of its exec, and the call before it. */
interface Fresh {
  readonly one: Asked;
  readonly why: () => Reason;
  readonly gap: string;
}

/** New calls between two that both sessions made stand in for those that are gone there. Which for which is known if they are as many. */
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
