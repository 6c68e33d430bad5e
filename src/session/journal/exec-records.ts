import type { AgentPlace, Complete, JournalRecord, Resume, Start, Suspend, ToolCall, ToolResult } from "./records.ts";

/** All records of one exec, in journal order. */
export interface ExecRecords {
  readonly start: Start;
  /** The processes that took it over, in their order. */
  readonly resumes: readonly Takeover[];
  readonly calls: readonly ToolCall[];
  readonly results: readonly ToolResult[];
  /** Ids of calls that have begun what must not run twice, and have no result. */
  readonly running: readonly string[];
  /** Calls of agents whose outboxes are not in the store's folder, and which have no result: where they were begun. */
  readonly agents: ReadonlyMap<string, AgentPlace>;
  /** The calls that the newest process left at a graceful stop; null: it ended otherwise, or runs. */
  readonly suspended: Suspend | null;
  readonly complete: Complete | null;
}

/** The record of a process that took an exec over. */
export interface Takeover extends Resume {
  /** Since the last record of any exec before it, ms: no process ran the exec, or one that recorded nothing. */
  readonly gap_ms: number;
}

/** The records of an exec that has begun. */
export function begun(start: Start): ExecRecords {
  const facts = { start, resumes: [], running: [], agents: NO_AGENTS, suspended: null, complete: null };
  return recordsOf(facts, { calls: listOf([]), results: listOf([]) });
}

/**
 * The records with one more. Its time does not grow with the calls of the exec.
 * @param gap_ms the time before a resume in which no process ran the exec
 */
export function grown(records: ExecRecords, added: JournalRecord, gap_ms = 0): ExecRecords {
  const { start, resumes, suspended, complete } = records;
  const { calls, results } = listsOf(records);
  return recordsOf(
    {
      start,
      resumes,
      suspended,
      complete,
      running: runningAfter(records.running, added),
      agents: agentsAfter(records.agents, added),
      ...changesBy(added, records, gap_ms),
    },
    {
      calls: added.record === "rlm_tool_call" ? longer(calls, added) : calls,
      results: added.record === "rlm_tool_result" ? longer(results, added) : results,
    },
  );
}

function runningAfter(running: ExecRecords["running"], added: JournalRecord): ExecRecords["running"] {
  if (added.record === "rlm_run" && !added.agent) return [...running, added.call_id];
  return added.record === "rlm_tool_result" ? running.filter((id) => id !== added.call_id) : running;
}

const NO_AGENTS: ExecRecords["agents"] = new Map();

function agentsAfter(agents: ExecRecords["agents"], added: JournalRecord): ExecRecords["agents"] {
  if (added.record === "rlm_run" && added.agent) return new Map(agents).set(added.call_id, added.agent);
  if (added.record !== "rlm_tool_result" || !agents.has(added.call_id)) return agents;
  const open = new Map(agents);
  open.delete(added.call_id);
  return open;
}

/** Facts of an exec that one more record changes. */
export function changesBy(added: JournalRecord, { resumes }: Pick<ExecRecords, "resumes">, gap_ms: number) {
  if (added.record === "rlm_resume") return { resumes: [...resumes, { ...added, gap_ms }], suspended: null };
  if (added.record === "rlm_suspend") return { suspended: added };
  return added.record === "rlm_complete" ? { complete: added } : {};
}

/** The number of recorded results that the newest process was given again. */
export const replayedIn = ({ resumes }: Pick<ExecRecords, "resumes">): number => resumes.at(-1)?.replayed ?? 0;

/** Each call of an exec with its result; null: none is recorded. */
export function answeredCalls({
  calls,
  results,
}: Pick<ExecRecords, "calls" | "results">): { readonly call: ToolCall; readonly result: ToolResult | null }[] {
  const answered = new Map(results.map((result) => [result.call_id, result]));
  return calls.map((call) => ({ call, result: answered.get(call.call_id) ?? null }));
}

/** `pending`: no result is recorded. */
export function statusOf(result: ToolResult | null): "ok" | "failed" | "pending" {
  if (!result) return "pending";
  return result.success ? "ok" : "failed";
}

/** The call with this id, if the exec has made it. Its time does not grow with the calls of the exec. */
export function callIn(records: ExecRecords | null, call_id: string): ToolCall | undefined {
  if (!records) return undefined;
  const { items, length, places } = listsOf(records).calls;
  const place = places.get(call_id) ?? length;
  return place < length ? items[place] : undefined;
}

/** The recorded result of this call, if there is one. Its time does not grow with the calls of the exec. */
export function resultIn(records: ExecRecords | null, call_id: string): ToolResult | undefined {
  if (!records) return undefined;
  const { items, length, places } = listsOf(records).results;
  const place = places.get(call_id) ?? length;
  return place < length ? items[place] : undefined;
}

/** Counts the calls that the exec has made. Its time does not grow with them. */
export function callCount(records: ExecRecords): number {
  return listsOf(records).calls.length;
}

/** Counts the calls without a recorded result. Its time does not grow with the exec's calls. */
export function pendingCount(records: ExecRecords): number {
  const { calls, results } = listsOf(records);
  return calls.length - results.length;
}

/** The calls after the first `from`. Its time grows only with how many these are. */
export function callsFrom(records: ExecRecords, from: number): readonly ToolCall[] {
  const { items, length } = listsOf(records).calls;
  return items.slice(from, length);
}

interface Lists {
  readonly calls: GrowingList<ToolCall>;
  readonly results: GrowingList<ToolResult>;
}

/** The lists of records that were made here. */
const known = new WeakMap<ExecRecords, Lists>();

function listsOf(records: ExecRecords): Lists {
  return known.get(records) ?? { calls: listOf(records.calls), results: listOf(records.results) };
}

/** Reads the lists as arrays only when they are asked for. */
function recordsOf(facts: Omit<ExecRecords, "calls" | "results">, lists: Lists): ExecRecords {
  const { calls, results } = lists;
  const records = {
    ...facts,
    get calls() {
      return calls.items.slice(0, calls.length);
    },
    get results() {
      return results.items.slice(0, results.length);
    },
  };
  known.set(records, lists);
  return records;
}

/** A list that never changes: as many of the first items as it is long. A longer one that is made of it shares the items. */
interface GrowingList<T> {
  readonly items: T[];
  readonly length: number;
  /** The place of each item, by its id. */
  readonly places: Map<string, number>;
}

function listOf<T extends ToolCall | ToolResult>(items: readonly T[]): GrowingList<T> {
  return items.reduce<GrowingList<T>>(longer, { items: [], length: 0, places: new Map() });
}

function longer<T extends ToolCall | ToolResult>(list: GrowingList<T>, item: T): GrowingList<T> {
  const { items, length, places } = list;
  // Another list has grown from this one already: the new one shares nothing with that.
  if (items.length > length) return longer(listOf(items.slice(0, length)), item);
  if (!places.has(item.call_id)) places.set(item.call_id, length);
  items.push(item);
  return { ...list, length: length + 1 };
}
