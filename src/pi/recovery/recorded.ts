import * as v from "valibot";
import type { ContextStats } from "../../context/index.ts";
import { nullIfFailed } from "../../platform/errors.ts";
import { jsonOf } from "../../platform/json.ts";
import {
  askEnvelope,
  type BudgetLimits,
  type Complete,
  contextKeyIn,
  coveredContext,
  EMPTY_ACCOUNT,
  envelope,
  follow,
  type JournalRecord,
  leftOfQuestion,
  queryEnvelope,
  type RemainingBudget,
  readEndExtras,
  readLoadInput,
  readRecord,
  SkippedSchema,
  storedContext,
} from "../../session/index.ts";
import type { Store } from "../../store/index.ts";
import { askAnswer, type RecordedCall, type Tool, type ToolEnvelope } from "../../tools/index.ts";

/** An exec as the store has it. */
export interface RecordedExec {
  readonly session: string;
  /** `null` if it has begun and not ended. */
  readonly complete: Complete | null;
  /** The session's head after it, and before it. */
  readonly checkpoint: string | null;
  readonly parent: string | null;
  /** The key of the context before it. */
  readonly contextBefore: string | null;
  /** Those of its turns and cells are among them, if it is an ask. */
  readonly records: readonly JournalRecord[];
  /** `null` if it is not an ask. */
  readonly ask: (typeof EMPTY_ACCOUNT)["ask"];
  readonly budget: RemainingBudget;
}

/** The records of an exec; null if the store has none. @throws RlmError of the store */
export async function recordedExec(
  store: Store,
  session: string,
  exec_id: string,
  limits: BudgetLimits,
): Promise<RecordedExec | null> {
  if ((await store.find(session)) === null) return null;
  const all = (await store.journal(session)).map(({ record }) => readRecord(record));
  const first = all.findIndex((record) => record.exec_id === exec_id);
  if (first < 0) return null;
  const inAsk = new Set(
    all.flatMap((record) => (record.record === "rlm_start" && record.ask === exec_id ? [record.exec_id] : [])),
  );
  const records = all.filter((record) => record.exec_id === exec_id || inAsk.has(record.exec_id));
  const ends = records.filter((record) => record.record === "rlm_complete");
  const last = all.findLastIndex((record) => record.exec_id === exec_id);
  const before = all.slice(0, first).reduce(follow, EMPTY_ACCOUNT);
  const after = all.slice(first, last + 1).reduce(follow, before);
  return {
    session,
    complete: ends.find((end) => end.exec_id === exec_id) ?? null,
    checkpoint: after.checkpoint,
    parent: before.checkpoint,
    contextBefore: before.context_key,
    records,
    ask: after.ask?.start.exec_id === exec_id ? after.ask : null,
    budget: leftOfQuestion(limits, after),
  };
}

/**
 * The answer that the tool would have given; null if its record does not have it. @throws RlmError
 * of the store
 */
export async function recordedAnswer(
  store: Store,
  tool: Tool,
  args: unknown,
  exec: RecordedExec,
): Promise<ToolEnvelope | null> {
  const { complete, session, budget, ask } = exec;
  if (!complete) return null;
  if (ask) {
    const context = await coveredContext(store, contextKeyIn(complete));
    return askAnswer(askEnvelope({ session_id: session, ask, budget, context, trajectory: false }));
  }
  const { end, state, success, error_code, error_message } = complete;
  if (!success && !(end && state)) {
    const suggestion = "Call the tool again.";
    return tool.failed({ code: error_code ?? "machine_lost", message: error_message ?? "it failed", suggestion });
  }
  const call = await recordedCall(store, exec, complete);
  const { envelope: shown } = call;
  const own = await tool.recorded(args, call);
  return own ?? (shown && { success: shown.success, ...jsonOf(shown) });
}

/** The rest of a call whose exec has ended; null: nothing. @throws RlmError of the store */
export async function restOf(store: Store, tool: Tool, args: unknown, exec: RecordedExec): Promise<Rest | null> {
  const { complete, ask } = exec;
  return complete && !ask ? tool.next(args, await recordedCall(store, exec, complete)) : null;
}

/** Runs the further exec of a call, and answers it. */
type Rest = NonNullable<ReturnType<Tool["next"]>>;

async function recordedCall(store: Store, exec: RecordedExec, complete: Complete) {
  const { session, budget, records, parent } = exec;
  const { end, state, kind, exec_id } = complete;
  const start = records.find((record) => record.record === "rlm_start" && record.exec_id === exec_id);
  const input = start?.record === "rlm_start" ? start.input : null;
  if (!end || !state) {
    const stats = await statsOf(store, contextKeyIn(complete));
    const before = readEndExtras(parent === null ? null : (await store.checkpoint(parent)).extras);
    const ingested = await ingestedBy(store, exec, complete);
    return { envelope: null, query: null, input, stats, before, ingested };
  }
  const answer = envelope({ ...complete, end, state }, { session_id: session, budget, unfinished: false });
  const context = kind === "query" ? await coveredContext(store, contextKeyIn(complete)) : null;
  const query = kind === "query" ? queryEnvelope(answer, context?.skipped ?? null) : null;
  return { envelope: query ?? answer, query, input, stats: null, before: { memory: {}, helpers: [] }, ingested: null };
}

/** The files that a load of several paths added; null for other execs, or if P is lost. */
async function ingestedBy(
  store: Store,
  { records, contextBefore }: RecordedExec,
  complete: Complete,
): Promise<RecordedCall["ingested"]> {
  const [start] = records;
  const input = start?.record === "rlm_start" && start.kind === "append" ? readLoadInput(start.input) : null;
  const named = input && "roots" in input && !("path" in input) ? input : null;
  const key = contextKeyIn(complete);
  if (!named || key === null) return null;
  const { paths, folder } = named;
  const context = await nullIfFailed(storedContext(store, key));
  const before = (await statsOf(store, contextBefore))?.document_count ?? 0;
  return context && { paths, folder, context, before };
}

/** Facts of a context in the store; null without a context, or if it is lost. */
export async function statsOf(store: Store, key: string | null): Promise<ContextStats | null> {
  const index = key === null ? null : await nullIfFailed(store.contextIndex(key));
  return index === null ? null : v.parse(IndexSchema, index).stats;
}

const count = v.number();

const ConvertedSchema = v.object({
  id: v.string(),
  kind: v.string(),
  sha256: v.string(),
  bytes: count,
  reader: v.string(),
  places: count,
  encoding: v.exactOptional(v.string()),
  lost: v.array(v.object({ kind: v.string(), count, where: v.array(v.union([v.string(), count])) })),
});

const IndexSchema = v.object({
  stats: v.object({
    length_chars: count,
    length_tokens_estimate: count,
    line_count: count,
    document_count: count,
    large: v.exactOptional(v.literal(true)),
    has_routing: v.boolean(),
    routing_entry_count: count,
    sources: v.array(v.string()),
    context_hash: v.string(),
    skipped: SkippedSchema,
    replaced: v.exactOptional(count),
    converted: v.exactOptional(
      v.object({ count, lossy: count, lost: v.record(v.string(), count), files: v.array(ConvertedSchema) }),
    ),
  }),
});
