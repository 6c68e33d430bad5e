import { functionOf } from "../../../src/session/journal/ledger.ts";
import type { JournalRecord, ToolCall, ToolResult } from "../../../src/session/journal/records.ts";
import type { FunctionRun } from "./campaign.ts";

/** What is wrong with an interrupted run, by the uninterrupted one: a line for each finding. */
export function judgeFunctions(reference: FunctionRun, run: FunctionRun): string[] {
  return [...ofResult(reference, run), ...ofRecords(run), ...ofStops(run), ...ofRuns(run)];
}

const callsIn = (journal: readonly JournalRecord[] = []) =>
  journal.filter((record): record is ToolCall => record.record === "rlm_tool_call");
const resultsIn = (journal: readonly JournalRecord[] = []) =>
  new Map(
    journal
      .filter((record): record is ToolResult => record.record === "rlm_tool_result")
      .map((one) => [one.call_id, one]),
  );

/** The result, in which a call of `send` may have been rejected. */
function ofResult(reference: FunctionRun, { lives }: FunctionRun): string[] {
  const [last, whole] = [lives.at(-1), reference.lives[0]];
  if (!last || last.hung || last.code !== 0) return [`the last process did not end: ${last?.code} ${last?.stderr}`];
  const { success, stdout, result_json } = JSON.parse(last.stdout);
  const expected = JSON.parse(whole?.stdout ?? "{}");
  const told = JSON.stringify(result_json);
  const [list, usual] = [result_json, expected.result_json].map((value: unknown[]) => value.flat());
  const isFitting =
    list?.length === usual?.length &&
    list?.every(
      (got, at) => got === usual?.[at] || (String(usual?.[at]).startsWith("send") && got === "process_restarted"),
    );
  return success && stdout === expected.stdout && isFitting ? [] : [`the result is ${told}`];
}

/** Each call has one record and one result; one of `send` that was rejected had begun at a kill. */
function ofRecords({ journals }: FunctionRun): string[] {
  const journal = journals.at(-1) ?? [];
  const calls = callsIn(journal);
  const results = resultsIn(journal);
  const ends = journal.filter(({ record }) => record === "rlm_complete" || record === "rlm_tool_result");
  const found: string[] = [];
  if (calls.length !== 15 || results.size !== 15 || ends.length !== 16) {
    found.push(`${calls.length} calls, ${results.size} results and ${ends.length} ends are recorded`);
  }
  for (const { call_id, name } of calls) {
    const isOnce = functionOf(name) === "send";
    const result = results.get(call_id);
    if (result?.success) continue;
    const wasRunning = journals.slice(0, -1).some((left) => isOpen(left, call_id) && hasBegun(left, call_id));
    if (!isOnce || !wasRunning) found.push(`${name} ${call_id} failed: ${JSON.stringify(result?.value)}`);
  }
  return found;
}

/** A call of `send` that only graceful stops interrupted has its answer: they wait for what runs, and know what does not. */
function ofStops({ journals, lives }: FunctionRun): string[] {
  const journal = journals.at(-1) ?? [];
  const failed = [...resultsIn(journal).values()].filter(
    ({ name, success }) => functionOf(name) === "send" && !success,
  );
  return failed
    .filter(({ call_id }) => !lives.some(({ code }, life) => code === null && isOpen(journals[life] ?? [], call_id)))
    .map(({ call_id, value }) => `send ${call_id} failed after a graceful stop: ${JSON.stringify(value)}`);
}

const isOpen = (journal: readonly JournalRecord[], id: string) =>
  callsIn(journal).some(({ call_id }) => call_id === id) && !resultsIn(journal).has(id);

const hasBegun = (journal: readonly JournalRecord[] = [], id: string) =>
  journal.some((record) => record.record === "rlm_run" && record.call_id === id);

/** No run before its record, none after its result, none beyond what kills excuse, and no second one of `send`. */
function ofRuns({ journals, logs }: FunctionRun): string[] {
  const all = logs.at(-1) ?? [];
  const began = all.filter(({ what }) => what === "began");
  const found: string[] = [];
  logs.forEach((log, index) => {
    const before = logs[index - 1]?.length ?? 0;
    for (const { key, name, what } of log.slice(before)) {
      if (!callsIn(journals[index]).some(({ call_id }) => call_id === key))
        found.push(`${name} ${key} ran before its record`);
      if (name === "send" && !hasBegun(journals[index], key)) found.push(`${name} ${key} ran before its rlm_run`);
      if (what === "began" && resultsIn(journals[index - 1]).has(key))
        found.push(`${name} ${key} ran after its result`);
    }
  });
  for (const [key, runs] of Map.groupBy(began, (one) => one.key)) {
    const [{ name, n } = { name: "", n: 0 }] = runs;
    const excused = name === "send" ? 0 : journals.slice(0, -1).filter((journal) => isOpen(journal, key)).length;
    if (runs.length > 1 + excused) found.push(`${name} ${key} ran ${runs.length} times, ${1 + excused} are allowed`);
    if (new Set(began.filter((one) => one.name === name && one.n === n).map((one) => one.key)).size > 1) {
      found.push(`${name} ${n} has several keys`);
    }
  }
  // What is recorded as an answer was run to its end.
  for (const [id, { success, name }] of resultsIn(journals.at(-1))) {
    if (success && !all.some(({ what, key }) => what === "ended" && key === id))
      found.push(`${name} ${id} was never run`);
  }
  return found;
}
