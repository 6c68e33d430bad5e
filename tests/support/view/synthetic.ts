import { describeExecs } from "../../../src/history/index.ts";
import type { SessionDescription } from "../../../src/index.ts";
import type { JournalRecord, ToolResult } from "../../../src/session/index.ts";
import { sessionOf } from "../ask/described.ts";
import { openJournal } from "../ask/journal.ts";

const BEGAN = Date.UTC(2026, 2, 3, 10);
const ERRORS = ["timeout", "rate_limited", "provider_error"];

/** Numbers that look random and are the same every time. */
function openRandom() {
  let state = 7;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/**
 * A session with one batch per cell and `places` calls in flight at once: some fail, some come from the cache, and of the
 * second cell a process was killed in the middle.
 */
export function syntheticSession(batches: readonly number[], places = 5): SessionDescription {
  const random = openRandom();
  const all: JournalRecord[] = [];
  let began = BEGAN;
  for (const [index, calls] of batches.entries()) {
    const exec = `cell-${index + 1}`;
    const records = openCell(exec, { began, calls, places, batch: index + 1 }, random);
    all.push(...(index === 1 ? killed(exec, records, 3_600_000) : records));
    began = (all.at(-1)?.at ?? began) + 2000;
  }
  const context = { hash: "0".repeat(64), chars: 14_100_000, sources: ["./corpus"] };
  const settings = { settings: { max_cost_usd: 60 } };
  const execs = describeExecs(all);
  const checkpoints = batches.map((_, index) => ({
    ...({
      id: `01POINT${index}`,
      exec_id: `cell-${index + 1}`,
      kind: "end",
      parent: null,
      pages: 3,
      bytes: 2048,
      head: false,
    } as const),
    at: execs[index]?.ended_at ?? 0,
  }));
  return sessionOf(execs, { name: "retries-review", created_at: BEGAN, context, settings, checkpoints });
}

interface Cell {
  readonly began: number;
  readonly calls: number;
  readonly places: number;
  readonly batch: number;
}

function openCell(exec: string, { began, calls, places, batch }: Cell, random: () => number): JournalRecord[] {
  const journal = openJournal(began);
  const source = `const answers = await llm_query_batch(parts[${batch}].map((part) => question + part), { max_concurrent: ${places} });`;
  journal.start(exec, "cell", source);
  for (let call = 1; call <= calls; call++) {
    const part = Array.from({ length: 40 }, () => WORDS[Math.floor(random() * WORDS.length)]).join(" ");
    journal.call(exec, call, "llm_query", [
      `Does this passage promise that a request is sent again? Answer with yes, no or unclear.\n\n${part}`,
      null,
      { id: batch },
    ]);
  }
  // All are recorded in one commit, and answered as places become free.
  for (const [index, record] of journal.records.entries()) Object.assign(record, { at: began + (index === 0 ? 0 : 5) });
  const free = Array.from({ length: places }, () => began + 10);
  const results: ToolResult[] = [];
  for (let call = 1; call <= calls; call++) {
    const [place] = [...free.keys()].toSorted((one, other) => (free[one] ?? 0) - (free[other] ?? 0));
    const sent_at = free[place ?? 0] ?? began;
    const luck = random();
    const at = sent_at + 200 + Math.floor(random() ** 4 * 4000);
    if (luck >= 0.1) free[place ?? 0] = at;
    results.push(resultOf(exec, call, { luck, at, sent_at, words: random }));
  }
  journal.records.push(...results.toSorted((one, other) => one.at - other.at));
  journal.end(exec, "cell", { checkpoint_id: `01POINT${batch - 1}`, call_count: calls });
  Object.assign(journal.records.at(-1) ?? {}, { at: (results.at(-1)?.at ?? began) + 4000 });
  return journal.records;
}

function resultOf(
  exec: string,
  call: number,
  made: { luck: number; at: number; sent_at: number; words: () => number },
): ToolResult {
  const { luck, at, sent_at, words } = made;
  const journal = openJournal(at);
  const answer = `yes: ${WORDS[Math.floor(words() * WORDS.length)]} is sent again`;
  const attempts = luck > 0.98 ? [{ code: "rate_limited", waited_ms: 300 }] : [];
  const usage = {
    input: 200 + (call % 90),
    output: 20,
    cache_read: call % 3 === 0 ? 150 : 0,
    cache_write: 0,
    cost_usd: 0.0004321,
  };
  journal.result(exec, call, "llm_query", answer, { usage, sent_at, attempts, model: "anthropic/claude-sonnet-5" });
  const [result] = journal.records;
  if (result?.record !== "rlm_tool_result") throw new Error("the journal has no result");
  const nothing = { usage: { input: 0, output: 0, cache_read: 0, cache_write: 0, cost_usd: 0 } };
  if (luck < 0.1) {
    const { sent_at: _, ...cached } = result;
    return { ...cached, at: sent_at + 3, ...nothing, cached: true };
  }
  if (luck > 0.13) return { ...result, at };
  const code = ERRORS[call % ERRORS.length] ?? "";
  return { ...result, at, success: false, value: { code, message: `The provider said ${code}.` }, ...nothing };
}

/** The records of an exec whose process ended after a third of the answers. Calls that were in flight are sent again. */
function killed(exec: string, records: readonly JournalRecord[], away: number): JournalRecord[] {
  const answers = records.filter(({ record }) => record === "rlm_tool_result");
  const before = answers.length / 3;
  const at = answers[Math.floor(before)]?.at ?? 0;
  const kept = records.filter((record) => record.at <= at);
  const answered = new Set(kept.flatMap((record) => (record.record === "rlm_tool_result" ? record.call_id : [])));
  const later = records
    .filter((record) => record.at > at)
    .map((record) => ({
      ...record,
      at: record.at + away,
      ...(record.record === "rlm_tool_result" && record.sent_at !== undefined
        ? { sent_at: Math.max(record.sent_at, at) + away }
        : {}),
    }));
  const flying = later.flatMap((one) =>
    one.record === "rlm_tool_result" && one.sent_at !== undefined && one.sent_at <= at + away ? one.call_id : [],
  );
  const resent = flying.filter((id) => !answered.has(id)).slice(0, 20);
  const resume = {
    record: "rlm_resume",
    exec_id: exec,
    checkpoint_id: null,
    replayed: answered.size,
    resent,
    failed: [],
  } as const;
  return [...kept, { ...resume, at: at + away }, ...later];
}

const WORDS =
  "the request is sent again after a delay unless the server says that it was received and the client keeps its idempotency key for as long as the lease lasts while a worker holds it or gives it back".split(
    " ",
  );
