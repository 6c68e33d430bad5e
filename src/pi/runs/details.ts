import { tokensOf } from "../../models/index.ts";
import { type JournalRecord, ROOT_CALL, type ToolCall, type ToolResult } from "../../session/index.ts";
import type { ToolEnvelope } from "../../tools/index.ts";
import type { RunningState } from "./board.ts";

/** `details` of a tool's result: what is shown of it, and further facts. */
export interface ToolDetails {
  readonly tool: string;
  /** null for calls that are not execs, and if nothing could be started. */
  readonly session: string | null;
  readonly exec_id: string | null;
  /** The envelope that the model sees, with long values cut further. */
  readonly envelope: ToolEnvelope;
  readonly calls: CallTally;
  /** Wall time in this process, ms. */
  readonly elapsed_ms: number;
  /** The call was interrupted, and finished by another process. */
  readonly recovered: boolean;
  /** Pi stopped the call, perhaps because it left the session: this stands where the real result may come. */
  readonly stopped?: true;
}

/** `details` of a partial result, while the tool runs. */
export interface ProgressDetails {
  readonly tool: string;
  readonly running: RunningState;
}

/** Sub-calls of one exec. */
export interface CallTally {
  readonly count: number;
  readonly failed: number;
  readonly tokens: number;
  /** USD by price lists. */
  readonly cost_usd: number;
  /** The first 50. */
  readonly items: (
    | { call_id: string; prompt: string; success: null; tokens: number; cost_usd: number; cached: boolean }
    | { call_id: string; prompt: string; success: boolean; tokens: number; cost_usd: number; cached: boolean }
  )[];
}

const ITEMS_KEPT = 50;
const PROMPT_UNITS = 80;

/** Adds up the sub-calls among the records of one exec, or of an ask with its cells. */
export function tallyOf(records: readonly JournalRecord[]): CallTally {
  const made = records.filter((record) => record.record === "rlm_tool_call");
  const calls = made.filter(({ name }) => name !== ROOT_CALL);
  const answers = records.filter((record) => record.record === "rlm_tool_result");
  const results = new Map(answers.map((answer) => [answer.call_id, answer]));
  const items = calls.map((call) => itemOf(call, results.get(call.call_id)));
  return {
    count: items.length,
    failed: items.filter(({ success }) => success === false).length,
    tokens: items.reduce((sum, { tokens }) => sum + tokens, 0),
    cost_usd: items.reduce((sum, { cost_usd }) => sum + cost_usd, 0),
    items: items.slice(0, ITEMS_KEPT),
  };
}

/** A call with the beginning of what was asked. `success` is null if it has no answer yet. */
function itemOf({ call_id, args }: ToolCall, result: ToolResult | undefined) {
  const [asked = ""] = args;
  const prompt = (typeof asked === "string" ? asked : JSON.stringify(asked)).slice(0, PROMPT_UNITS);
  if (!result) return { call_id, prompt, success: null, tokens: 0, cost_usd: 0, cached: false };
  const { usage, success, cached } = result;
  return { call_id, prompt, success, tokens: tokensOf(usage), cost_usd: usage.cost_usd, cached };
}
