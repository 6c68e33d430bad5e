import { hash } from "node:crypto";
import { readSubCall } from "../../../builtins/index.ts";
import { firstly, type Json, type PendingCall } from "../../../runtime/index.ts";
import { failure, type SubCallError, tokensOf } from "../../models/index.ts";
import { displayName } from "../../platform/ids.ts";
import { withoutUndefined } from "../../platform/json.ts";
import { EMPTY_ACCOUNT, follow } from "../journal/account.ts";
import { isSubCall } from "../journal/ledger.ts";
import { type JournalRecord, readJournal, type ToolCall, type ToolResult } from "../journal/records.ts";
import { openReuse, type ReusableAnswer, type ReusableAnswers } from "../journal/reused-answers.ts";
import type { ReuseOptions } from "../option-types.ts";
import type { SessionParts } from "../parts.ts";
import { sessionNamed } from "../stored/sessions.ts";
import { type Answered, FREE } from "./port.ts";

/** Answers of another session that calls of a workflow take over. */
export interface TakenOver {
  /** Returns the answer of an equal call; `undefined`: the call is to be made. */
  answer(call: PendingCall): Answered | undefined;
  /** Returns why a call must not be made, although no equal call has an answer; null: it may be made. */
  lack(call: PendingCall): SubCallError | null;
}

/** The part of a call's record that says what it asks. */
export type AskedPart = Pick<ToolCall, "call_id" | "name" | "args"> & Partial<Pick<ToolCall, "thinking" | "sampling">>;

const NONE: TakenOver = { answer: () => undefined, lack: () => null };

/**
 * Opens the answers that the option `reuse` names, for an exec that is a workflow.
 *
 * @param made the calls of the exec so far, in their order
 * @throws RlmError `session_not_found`
 */
export async function openTakenOver(
  { options: { reuse }, env, answers, state }: Pick<SessionParts, "options" | "env" | "answers" | "state">,
  isWorkflow: boolean,
  made: () => readonly AskedPart[],
): Promise<TakenOver> {
  if (!reuse || !isWorkflow) return NONE;
  const row = await sessionNamed(env.store, reuse.session);
  const records = await readJournal(env.store, row.id);
  const { context_key } = records.reduce(follow, EMPTY_ACCOUNT);
  const known = answersIn(records, context_key);
  const find = openReuse(known, made, (call) => questionIn(call, state().account.context_key));
  const from = displayName(row);
  const { only } = reuse;

  /** The answer of an equal call by the model that the call asks now. */
  function found(call: PendingCall): ReusableAnswer | undefined {
    if (!isSubCall(call.name) || isToBeMade({ only }, call)) return undefined;
    const answer = find(call.id);
    // A person gave it, whatever model the call asks.
    if (answer?.by_hand) return answer;
    return answer && (answers.modelOf?.(call) ?? answer.model) === answer.model ? answer : undefined;
  }

  return {
    answer(call) {
      const answer = found(call);
      if (!answer) return undefined;
      const { value, model, mended, by_hand, tokens = 0, cost_usd = 0 } = answer;
      const reused = { from, tokens, cost_usd };
      const record = { ...FREE, model, cached: true, reused, ...withoutUndefined({ mended, by_hand }) };
      return { settlement: { ok: true, value }, record, cacheKey: null };
    },
    lack(call) {
      if (only === undefined || !isSubCall(call.name) || isToBeMade({ only }, call) || found(call)) return null;
      return failure(
        "policy_violation",
        `${nameOf(call)} is not of the phase ${only}, and ${from} has no answer to it`,
        {
          suggestion: `${firstly("makeAllPhases")}: what has not changed is taken over, and the rest is asked for.`,
        },
      );
    },
  };
}

/** True for a call of the phase that is made anew. */
function isToBeMade({ only }: Pick<ReuseOptions, "only">, { name, args }: Pick<PendingCall, "name" | "args">): boolean {
  return only !== undefined && optionsOf(name, args)?.phase === only;
}

/** `the call "count doors" (4, of the phase Verify)` */
function nameOf({ id, name, args }: PendingCall): string {
  const { label, phase, prompt = "" } = optionsOf(name, args) ?? {};
  const words = label ?? prompt.slice(0, WORDS_UNITS).replaceAll(/\s+/g, " ").toWellFormed();
  const number = id.slice(id.lastIndexOf(".") + 1);
  return `the call ${JSON.stringify(words)} (${number}${phase === undefined ? "" : `, of the phase ${phase}`})`;
}

const WORDS_UNITS = 60;

function optionsOf(name: string, args: readonly Json[]) {
  try {
    return readSubCall(name, args);
  } catch {
    // Another user may have written the store.
    return null;
  }
}

/** The answers of a session's sub-calls by their questions. A call without one leaves its place empty. */
function answersIn(records: readonly JournalRecord[], context_key: string | null): ReusableAnswers {
  const results = new Map(records.flatMap((one) => (one.record === "rlm_tool_result" ? [[one.call_id, one]] : [])));
  const known = new Map<string, (ReusableAnswer | undefined)[]>();
  for (const call of records) {
    const asked = call.record === "rlm_tool_call" ? questionIn(call, context_key) : null;
    if (asked === null || call.record !== "rlm_tool_call") continue;
    const result = results.get(call.call_id);
    known.set(asked, [...(known.get(asked) ?? []), result?.success ? answerOf(result) : undefined]);
  }
  return known;
}

function answerOf({ value, model, mended, by_hand, usage, reused }: ToolResult): ReusableAnswer {
  const tokens = tokensOf(usage) + (reused?.tokens ?? 0);
  const cost_usd = usage.cost_usd + (reused?.cost_usd ?? 0);
  return { value, model, tokens, cost_usd, ...withoutUndefined({ mended, by_hand }) };
}

/**
 * SHA-256 of what a call asks, and of whom: whatever its label, its phase and its time. null: it is no sub-call, or reads a
 * conversation.
 */
function questionIn(
  { name, args, thinking = "off", sampling = {} }: AskedPart,
  context_key: string | null,
): string | null {
  const request = isSubCall(name) ? optionsOf(name, args) : null;
  if (!request) return null;
  const { label: _label, phase: _phase, timeout_ms: _time, batch: _batch, delivery: _delivery, ...asked } = request;
  const { context } = asked;
  if (context && "of" in context) return null;
  const of = context && !("text" in context) ? context_key : null;
  return hash("sha256", JSON.stringify([{ ...sampling, ...asked }, asked.thinking ?? thinking, of]));
}
