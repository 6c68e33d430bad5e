import { amount, compact, dollars, duration, priced } from "../../platform/figures.ts";
import { isRecord } from "../../platform/json.ts";
import { progressParts, type RemainingBudget } from "../../session/index.ts";
import type { ConversationState, RunningState } from "../runs/board.ts";
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

/** The progress of a call. */
export const progress = (running: RunningState) => progressParts(running, oneLine);

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
