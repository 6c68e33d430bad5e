import type { Json } from "../../../runtime/index.ts";
import { hashOf } from "../journal/records.ts";
import type { CallDescription } from "./call-description.ts";
import type { SessionDescription } from "./description.ts";
import type { ExecDescription } from "./exec-description.ts";

/** The place of a call in a session, as `belay show` numbers it. */
export interface CallPlace {
  readonly exec: number;
  readonly call: number;
}

/** The calls with which both sessions begin. */
export interface Past {
  /** Both have the same records: one is a fork of the other, or both are forks. */
  readonly is_shared: boolean;
  readonly calls: number;
  /** The last of them; null: there is none. */
  readonly last: CallPlace | null;
}

/** A call with its exec, and the hash of what it asks, wherever it stands. */
export interface Asked {
  readonly exec: ExecDescription;
  readonly call: CallDescription;
  readonly hash: string;
}

export const placeOf = ({ exec, call }: Pick<Asked, "exec" | "call">) => ({ exec: exec.number, call: call.number });

/** The prompt; of a turn what it added to the conversation. */
export const promptOf = ({ exec, call }: Pick<Asked, "exec" | "call">): string =>
  call.prompt ?? exec.turn?.messages.join("\n") ?? "";

export function askedIn({ execs }: SessionDescription): Asked[] {
  return execs.flatMap((exec) => exec.calls.map((call) => ({ exec, call, hash: hashAsked(exec, call) })));
}

/** The number of a batch is left out. A turn asks with what it added to the conversation. */
function hashAsked({ turn }: ExecDescription, { name, args }: CallDescription): string {
  return hashOf([name, ...(turn ? turn.messages : args.slice(0, 2))]);
}

/** Execs of the older session by those of the newer one: with the same id, else with the same text, in order. */
export function pairsOf(
  now: SessionDescription,
  before: SessionDescription,
): ReadonlyMap<ExecDescription, ExecDescription> {
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

/** The calls with which both begin: with the same records, or with the same cells, questions and answers in order. */
export function pastOf(
  calls: readonly Asked[],
  olders: readonly Asked[],
  pairs: ReturnType<typeof pairsOf>,
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

function isAlike(one: Asked, other: Asked | undefined, pairs: ReturnType<typeof pairsOf>): boolean {
  if (one.hash !== other?.hash || pairs.get(one.exec) !== other.exec) return false;
  return one.call.status !== "pending" && isSameText(one.call.answer, other.call.answer);
}

export const isSameText = (one: Json, other: Json) => JSON.stringify(one) === JSON.stringify(other);
