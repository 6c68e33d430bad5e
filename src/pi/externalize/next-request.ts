import { type Fate, type FoldMessage, fates, sentOf } from "./apply.ts";
import type { Outside } from "./branch.ts";
import { type EpochEntry, inParts, OUTSIDE_ENTRY, readEntries } from "./entries.ts";

import { messageOf, type PiMessage } from "./message.ts";
import { type Bounds, type Plan, planEpoch, planValve } from "./plan.ts";
import { estimate, ratioOf, type Size, type SizeParts, sizeOf } from "./size.ts";

/** The facts that decide the next request. */
export interface NextRequestParts<M extends PiMessage> extends SizeParts {
  /** As Pi would send them, with recovered results. */
  readonly messages: readonly M[];
  /** null: nothing more goes out. */
  readonly rules: Rules | null;
}

/** By what more goes out. */
export interface Rules extends Bounds {
  /** Tokens of the model's window. */
  readonly window: number;
  /** Tokens that Pi keeps free for the answer. */
  readonly reserve: number;
  /** Parts of the window: from where on an epoch happens, and down to where. */
  readonly at: number;
  readonly to: number;
  /** The model, as answers name theirs. */
  readonly model: { readonly provider: string; readonly id: string };
  /** An epoch happens now, whatever the size: a person asked for it. */
  readonly isAsked?: boolean;
}

/** The next request. */
export interface NextRequest<M extends PiMessage> extends Pick<State<M>, "sent" | "entries" | "size"> {
  /** The number of texts that are not in it. */
  readonly objects: number;
}

const LEAST_FREED = 0.1;
const VALVE_AT = 0.9;
const VALVE_TO = 0.75;
const PREVIEW_UNITS = 400;

/** Tokens from which on an epoch happens. */
export function triggerOf({ at, to, window, reserve }: Pick<Rules, "at" | "to" | "window" | "reserve">): number {
  return Math.max(Math.min(at * window, 0.85 * (window - reserve)), (to + LEAST_FREED) * window);
}

/** The next request, and the entries to write before it: a pure function. */
export function nextRequest<M extends PiMessage>(parts: NextRequestParts<M>): NextRequest<M> {
  const { rules } = parts;
  const now = stateOf(parts, parts.outside, []);
  if (!rules) return requestOf(now);
  const isCold = isOtherModel(parts, rules);
  const trigger = isCold ? (rules.to + LEAST_FREED) * rules.window : triggerOf(rules);
  const valve = VALVE_AT * rules.window;
  const isOver = now.size.tokens > trigger;
  if (!isOver && !rules.isAsked && now.size.atMost <= valve) return requestOf(now);
  const cause = rules.isAsked ? "manual" : isCold && now.size.tokens <= triggerOf(rules) ? "model" : "threshold";
  const needed = now.size.atMost > valve || rules.isAsked ? 1 : LEAST_FREED * rules.window;
  const first = afterEpoch(parts, rules, now, { cause, needed });
  return requestOf(first.size.atMost > valve ? afterValve(parts, rules, first) : first);
}

/** A request, as it is with these entries. */
interface State<M extends PiMessage> {
  /** To write on the branch before it is sent, in this order. */
  readonly entries: readonly EpochEntry[];
  readonly outside: Outside;
  readonly fates: readonly Fate<M>[];
  readonly sent: readonly (M | FoldMessage)[];
  readonly size: Size;
}

function stateOf<M extends PiMessage>(
  parts: NextRequestParts<M>,
  outside: Outside,
  entries: readonly EpochEntry[],
  ratio?: number,
): State<M> {
  const all = fates(parts.messages, outside, parts.ids);
  const sent = sentOf(all, outside, parts.ids);
  const sized = { ...parts, outside };
  return { entries, outside, fates: all, sent, size: sizeOf(sent, sized, ratio ?? ratioOf(sent, sized)) };
}

function requestOf<M extends PiMessage>({ entries, sent, fates, size }: State<M>): NextRequest<M> {
  return { entries, sent, size, objects: fates.filter(({ is }) => is !== "raw").length };
}

/** @param needed tokens that the epoch has to free, or it does not happen */
function afterEpoch<M extends PiMessage>(
  parts: NextRequestParts<M>,
  rules: Rules,
  now: State<M>,
  { cause, needed }: { readonly cause: EpochEntry["cause"]; readonly needed: number },
) {
  const over = (now.size.tokens - rules.to * rules.window) / now.size.ratio;
  // A user who asks for it below the target does not mean a single text.
  const wanted = rules.isAsked && over <= 0 ? null : Math.max(1, over);
  const plan = planEpoch({ ...now, ids: parts.ids, bounds: rules }, wanted);
  if (!plan) return now;
  const next = withPlan(parts, rules, now, plan, cause);
  return freedTokens(now, next) >= needed ? next : now;
}

function afterValve<M extends PiMessage>(parts: NextRequestParts<M>, rules: Rules, now: State<M>) {
  const wanted = (now.size.atMost - VALVE_TO * rules.window) / ((now.size.ratio * 4) / 3);
  const plan = planValve({ ...now, ids: parts.ids, bounds: rules }, wanted, PREVIEW_UNITS);
  return plan ? withPlan(parts, rules, now, plan, "valve") : now;
}

/** Tokens that a step frees, measured alike before and after. */
function freedTokens(before: State<PiMessage>, after: State<PiMessage>): number {
  return before.size.ratio * (estimate(before.sent) - estimate(after.sent));
}

function withPlan<M extends PiMessage>(
  parts: NextRequestParts<M>,
  { min, manifest, window }: Rules,
  now: State<M>,
  plan: Plan,
  cause: EpochEntry["cause"],
): State<M> {
  const facts = { v: 1, epoch: now.outside.entries.next, cause, min, manifest, preview: PREVIEW_UNITS } as const;
  const bare: EpochEntry = { ...plan, ...facts, window, before: now.size.tokens, after: 0, objects: 0 };
  const written = [...now.entries, bare].map((data) => ({ type: "custom", customType: OUTSIDE_ENTRY, data }));
  const outside = parts.outside.under(readEntries([...parts.branch, ...written]));
  // The provider's count is still the measure of an estimated token.
  const then = stateOf(parts, outside, [], now.size.ratio);
  const after = Math.max(0, Math.round(now.size.tokens - freedTokens(now, then)));
  const { objects } = requestOf(then);
  return { ...then, entries: [...now.entries, ...inParts({ ...bare, after, objects })] };
}

/**
 * True if the last answer came from another model than the one that is asked next: its cache has
 * nothing of this.
 */
export function isOtherModel({ branch }: Pick<NextRequestParts<PiMessage>, "branch">, { model }: Rules): boolean {
  const last = branch.findLast((entry) => messageOf(entry)?.role === "assistant");
  const message = last && messageOf(last);
  if (!message || message.provider === undefined || message.model === undefined) return false;
  return message.provider !== model.provider || message.model !== model.id;
}
