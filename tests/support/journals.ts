import fc from "fast-check";
import { NO_USAGE } from "../../src/models/index.ts";
import type {
  Complete,
  ExecKind,
  JournalRecord,
  Start,
  ToolCall,
  ToolResult,
} from "../../src/session/journal/records.ts";
import { AT_ONCE } from "./length-answers.ts";

/** What becomes of an exec in a generated journal. */
interface ExecPlan {
  readonly kind: ExecKind;
  readonly success: boolean;
  readonly time_ms: number;
  readonly calls: readonly CallPlan[];
  /** Another process takes the exec over once. */
  readonly isResumed: boolean;
}

interface CallPlan {
  readonly isAnswered: boolean;
  readonly tokens: number;
  readonly cost_usd: number;
  readonly nothingSent: "refused" | "cached" | null;
  /** Sub-calls allotted to a child, and those that it made; null: the call has no context. */
  readonly child: { readonly allotted: number; readonly made: number } | null;
}

const callPlan: fc.Arbitrary<CallPlan> = fc.record({
  isAnswered: fc.boolean(),
  tokens: fc.nat(1000),
  // Eighths: sums of them do not depend on their order.
  cost_usd: fc.nat(80).map((eighths) => eighths / 8),
  nothingSent: fc.constantFrom("refused" as const, "cached" as const, null, null),
  child: fc.option(
    fc.nat(12).chain((allotted) => fc.record({ allotted: fc.constant(allotted), made: fc.nat(allotted) })),
    { nil: null },
  ),
});

const execPlan: fc.Arbitrary<ExecPlan> = fc.record({
  kind: fc.constantFrom<ExecKind>("cell", "cell", "cell", "query", "load", "append", "helpers", "memory"),
  ...{ success: fc.boolean(), time_ms: fc.nat(5000), calls: fc.array(callPlan, { maxLength: 4 }) },
  isResumed: fc.boolean(),
});

/** The journal of a session as the product could write it, cut after any of its records. */
export const journals: fc.Arbitrary<JournalRecord[]> = fc
  .tuple(fc.array(execPlan, { maxLength: 8 }), fc.nat(200))
  .map(([plans, end]) => plans.flatMap(recordsOf).slice(0, end));

function recordsOf(plan: ExecPlan, index: number): JournalRecord[] {
  const exec_id = `exec-${index}`;
  const runsCell = plan.kind === "cell" || plan.kind === "query";
  const calls = runsCell ? plan.calls : [];
  const made = calls.map((call, number) => callOf(exec_id, number, call));
  const results = calls.flatMap((call, number) => (call.isAnswered ? [answerOf(exec_id, number, call)] : []));
  const resume = { record: "rlm_resume", exec_id, checkpoint_id: null, resent: [], failed: [], at: 3 } as const;
  return [
    { ...startOf(exec_id, plan.kind), input: runsCell ? `source ${index}` : { path: `/${index}` } },
    ...made,
    ...(plan.isResumed ? [{ ...resume, replayed: 1 }] : []),
    ...results,
    completeOf(exec_id, plan, index),
  ];
}

export function startOf(exec_id: string, kind: ExecKind): Start {
  const cell = kind === "cell" || kind === "query" ? `source of ${exec_id}` : null;
  return { record: "rlm_start", exec_id, kind, input: cell, cell, limits: {}, helpers_hash: null, rest: [], at: 1 };
}

function callOf(exec_id: string, number: number, { child }: CallPlan): ToolCall {
  return {
    ...{ record: "rlm_tool_call", exec_id, call_id: `${exec_id}.${number}`, checkpoint_id: `${exec_id}-step` },
    ...{ name: "llm_query", args: [`question ${number}`], args_hash: "" },
    ...(child && child.allotted > 0 ? { counts: 1 + child.allotted } : {}),
    call_count: number + 1,
    output_bytes: 0,
    at: 2,
  };
}

function answerOf(exec_id: string, number: number, { tokens, cost_usd, nothingSent, child }: CallPlan): ToolResult {
  const result = resultOf(exec_id, `${exec_id}.${number}`);
  if (nothingSent) return { ...result, refused: nothingSent === "refused", cached: nothingSent === "cached" };
  const made = { session: `child of ${number}`, sub_calls: child?.made ?? 0, turns: 1, depth_reached: 1 };
  return { ...result, usage: { ...NO_USAGE, output: tokens, cost_usd }, ...(child ? { child: made } : {}) };
}

export function resultOf(exec_id: string, call_id: string): ToolResult {
  return {
    ...{ record: "rlm_tool_result", exec_id, call_id, name: "llm_query", success: true, value: "answer" },
    ...{ usage: NO_USAGE, model: "test/model" },
    ...AT_ONCE,
    elapsed_ms: 1,
    at: 4,
  };
}

function completeOf(exec_id: string, { kind, success, time_ms }: ExecPlan, index: number): Complete {
  return {
    ...{ record: "rlm_complete", exec_id, kind, success, error_code: success ? null : "js_error" },
    ...{ error_message: null, end: null, state: null, events: [], call_count: 0, time_ms, resumed: 0 },
    ...{ replayed_sub_calls: 0, checkpoint_id: success ? `${exec_id}-end` : null },
    ...{ helpers_hash: success ? `helpers ${index}` : null, context_hash: `context ${index}`, at: 5 },
  };
}
