import { amount, compact, dollars, duration, priced, size } from "../../platform/figures.ts";
import { isRecord } from "../../platform/json.ts";
import type { PhaseProgress, RemainingBudget } from "../../session/index.ts";
import type { ConversationState, RunningState, TurnState } from "../runs/board.ts";
import type { Answer, Envelope } from "./answer.ts";
import { harmless, oneLine } from "./texts.ts";

/**
 * The outcome in a line: `42 matches`, `3 sub-calls`, `1.2 s`, `$0.004`; of a failure its code and
 * message instead.
 */
export function outcome({ envelope, calls, elapsed_ms, recovered }: Answer): string[] {
  const { turns, cells, usage, skipped } = envelope;
  return [
    ...(envelope.success ? found(envelope) : []),
    ...unreadParts(skipped?.unread),
    ...(turns ? [amount(turns, "turn"), amount(cells ?? 0, "cell")] : []),
    ...(calls.count > 0 ? [amount(calls.count, "sub-call")] : []),
    ...(calls.failed > 0 ? [`${calls.failed} failed`] : []),
    ...(elapsed_ms === null ? [] : [duration(elapsed_ms)]),
    ...priced(usage?.cost_usd ?? calls.cost_usd),
    ...(recovered ? ["resumed"] : []),
  ];
}

/** `js_error: TypeError: x is not a function` */
export function failure({ error_code, error_message }: Envelope): string {
  return [error_code, oneLine(error_message, 200)].filter((part) => part !== "").join(": ") || "failed";
}

/** `48 sub-calls · 1.9M tokens · $0.98 · 12 min 05 s`; the cost if it is limited. */
export function budgetLeft(
  budget: Omit<RemainingBudget, "remaining_cost_usd"> & { readonly remaining_cost_usd?: number | null },
): string {
  const { remaining_sub_calls, remaining_tokens, remaining_time_ms, remaining_cost_usd: usd } = budget;
  const cost = typeof usd === "number" ? [dollars(usd)] : [];
  const tokens = `${compact(remaining_tokens)} tokens`;
  return [amount(remaining_sub_calls, "sub-call"), tokens, ...cost, duration(remaining_time_ms)].join(" · ");
}

/** `41 objects outside`, `61k tokens`, `context 31 % of 200k`. */
export function outsideParts({ objects, tokens, next }: ConversationState): string[] {
  const { window } = next;
  const part = window === null ? [] : [`context ${Math.round((next.tokens / window) * 100)} % of ${compact(window)}`];
  return [`${amount(objects, "object")} outside`, `${compact(tokens)} tokens`, ...part];
}

/**
 * The progress of a call: `turn 3 of 20`, `3 done`, `5 running`, `42 left`, `48k tokens (~9k
 * held)`, `$0.021 (up to $0.034)`.
 */
export function progress({ turn, child, calls, load, notice }: RunningState): string[] {
  const { done, running, left, tokens, held_tokens, cost_usd, held_cost_usd } = calls ?? NO_CALLS;
  const held = held_tokens > 0 ? ` (~${compact(held_tokens)} held)` : "";
  const most = held_cost_usd > 0 ? ` (up to ${dollars(cost_usd + held_cost_usd)})` : "";
  const cost = cost_usd > 0 || held_cost_usd > 0 ? [`${dollars(cost_usd)}${most}`] : [];
  return [
    ...(turn ? turnParts(turn, calls !== null) : []),
    ...(load ? [amount(load.files, "file"), size(load.bytes)] : []),
    ...(notice === null ? [] : [oneLine(notice, 60)]),
    ...(calls?.phases?.map(phasePart) ?? []),
    ...(calls && !calls.phases ? [`${done} done`, `${running} running`, `${left} left`] : []),
    ...(calls ? [`${compact(tokens)} tokens${held}`, ...cost] : []),
    ...(child ? [`child: turn ${child.turn} of ${child.of}`] : []),
  ];
}

/** `Verify 3 of 9, 1 failed`: agents of a phase that have ended, of those that were asked for. */
export function phasePart({ phase, made, done, failed }: PhaseProgress): string {
  const counts = `${done} of ${phase === null ? amount(made, "agent") : made}`;
  return `${phase === null ? "" : `${oneLine(phase, 30)} `}${counts}${failed > 0 ? `, ${failed} failed` : ""}`;
}

/** The usage of an ask until now; while sub-calls are out, their line shows that. */
function turnParts({ turn, of, cells, sub_calls, tokens, cost_usd }: TurnState, hasCalls: boolean): string[] {
  const taken = [amount(cells, "cell"), amount(sub_calls, "sub-call"), `${compact(tokens)} tokens`];
  return [`turn ${turn} of ${of}`, ...(hasCalls ? [] : [...taken, ...priced(cost_usd)])];
}

const NO_CALLS = { done: 0, running: 0, left: 0, tokens: 0, held_tokens: 0, cost_usd: 0, held_cost_usd: 0 };

/** The result of a tool in a word or two. */
function found(envelope: Envelope): string[] {
  const { text, stats, answered, turns, confidence, answer } = envelope;
  const { sections_analyzed, helpers, keys, removed, value, result_json } = envelope;
  if (typeof text === "string") return [oneLine(text.split("\n", 1)[0] ?? "", 100)];
  if (isRecord(stats)) return contextFound(stats);
  if (answered !== null) return [amount(answered, "answer")];
  if (turns !== null || typeof confidence === "string") return [valueFound(answer)];
  if (typeof sections_analyzed === "number") return [amount(sections_analyzed, "section")];
  if (Array.isArray(helpers)) return [amount(helpers.length, "helper")];
  if (Array.isArray(keys)) return [amount(keys.length, "key")];
  if (typeof removed === "boolean") return [removed ? "removed" : "there was none"];
  if (value !== undefined) return [valueFound(value)];
  return result_json === undefined || result_json === null ? [] : [valueFound(result_json)];
}

function contextFound({ document_count, length_chars, skipped }: Readonly<Record<string, unknown>>): string[] {
  const documents = typeof document_count === "number" ? [amount(document_count, "document")] : [];
  const characters = typeof length_chars === "number" ? [`${compact(length_chars)} characters`] : [];
  return [...documents, ...characters, ...unreadParts(isRecord(skipped) ? skipped.unread : 0)];
}

/** `2 files not read`: files of the load that could not be. */
function unreadParts(unread: unknown): string[] {
  return typeof unread === "number" && unread > 0 ? [`${amount(unread, "file")} not read`] : [];
}

/** `42 items`; of an object the first list in it, `42 matches`; of what is short the value. */
function valueFound(value: unknown): string {
  if (Array.isArray(value)) return amount(value.length, "item");
  if (!isRecord(value)) return oneLine(typeof value === "string" ? value : JSON.stringify(value), 40);
  for (const [name, held] of Object.entries(value)) {
    if (Array.isArray(held)) return amount(held.length, singular(name), harmless(name));
  }
  return oneLine(JSON.stringify(value), 40);
}

/** Names of fields that hold lists. */
function singular(name: string): string {
  return harmless(name.replace(/(ch|sh|x|ss)es$/, "$1").replace(/([^s])s$/, "$1"));
}
