import { difference, lasting, lastingLine } from "./compare.ts";
import type { CrashRun } from "./run.ts";

/** What is wrong with an interrupted run, by the uninterrupted one of the same program: a line for each finding. */
export function judge(reference: CrashRun, run: CrashRun): string[] {
  return [...ofEnd(reference, run), ...ofRecords(reference, run), ...ofRequests(reference, run), ...ofCounts(run)];
}

/** The lines on stdout, without what varies. */
const linesOf = (stdout: string): string[] => stdout.split("\n").slice(0, -1).map(lastingLine);

/** What the last process printed, and the whole lines of those before. */
function ofEnd(reference: CrashRun, run: CrashRun): string[] {
  const [expected] = reference.lives;
  const last = run.lives.at(-1);
  if (!expected || !last) return ["nothing was run"];
  if (last.hung) return ["the last process did not end"];
  const found: string[] = [];
  if (last.code !== expected.code) {
    found.push(`exit code ${last.code}, not ${expected.code}; stderr: ${last.stderr.trim().slice(0, 500)}`);
  }
  const whole = linesOf(expected.stdout);
  const printed = linesOf(last.stdout);
  if (printed.length === 0) found.push("the last process printed nothing");
  found.push(...unequal("stdout of the last process", whole.slice(whole.length - printed.length), printed));
  for (const [index, { stdout }] of run.lives.slice(0, -1).entries()) {
    for (const line of linesOf(stdout)) {
      if (!line.includes('"error_code":"cancelled"') && !whole.includes(line))
        found.push(`process ${index + 1} printed what the uninterrupted one does not: ${line}`);
    }
  }
  return found;
}

/** What the journal has of ends and results, and the session's own account. */
function ofRecords(reference: CrashRun, run: CrashRun): string[] {
  const expected = reference.journals.at(-1);
  const actual = run.journals.at(-1);
  if (!expected || !actual) return ["there is no journal"];
  const found = unequal("rlm_complete", expected.ends.map(lasting), actual.ends.map(lasting));
  if (actual.open !== null) found.push(`the exec ${actual.open} has no end`);
  for (const text of actual.repeated) found.push(`recorded twice: ${text}`);
  for (const [prompt, result] of expected.results) {
    // How far a call came that was given up depends on when.
    if (lasting(result.value).includes('"code":"cancelled"')) continue;
    const again = actual.results.get(prompt);
    if (!again) found.push(`no result was recorded for: ${prompt}`);
    else found.push(...unequal(`result of ${prompt}`, [lasting(result)], [lasting(again)]));
  }
  for (const prompt of actual.results.keys()) {
    if (!expected.results.has(prompt)) found.push(`a call that the uninterrupted run does not make: ${prompt}`);
  }
  found.push(...unequal("facts", [accountOf(reference.facts)], [accountOf(run.facts)]));
  if (run.left !== null) found.push(...unequal("what is left", [reference.left ?? ""], [run.left]));
  return found;
}

/** The facts that do not count attempts. */
function accountOf(facts: string): string {
  const { status, sub_calls, tokens, cost_usd, context } = JSON.parse(facts) ?? {};
  return JSON.stringify({ status, sub_calls, tokens, cost_usd, context });
}

/** No request before its record, none after its result, none more often than kills can excuse. */
function ofRequests(reference: CrashRun, run: CrashRun): string[] {
  const found: string[] = [];
  const usual = countBy(reference.requests);
  for (const [prompt, count] of countBy(run.requests)) {
    const excused = run.journals.slice(0, -1).filter((journal) => journal?.inFlight.includes(prompt)).length;
    const allowed = (usual.get(prompt) ?? 0) + excused;
    if (count > allowed) found.push(`asked ${count} times where ${allowed} are allowed: ${prompt}`);
  }
  for (const { life, prompt } of run.requests) {
    if (run.journals[life - 2]?.results.has(prompt)) found.push(`process ${life} asked what was answered: ${prompt}`);
    if (!run.journals[life - 1]?.called.has(prompt)) found.push(`process ${life} asked before its record: ${prompt}`);
  }
  const answered = run.requests.filter((request) => request.answered);
  for (const [key, count] of countBy(answered, ({ life, prompt }) => `process ${life}: ${prompt}`)) {
    if (count > 1) found.push(`answered ${count} times to ${key}`);
  }
  return found;
}

/** What the envelopes say of interruptions. */
function ofCounts(run: CrashRun): string[] {
  const found: string[] = [];
  const journal = run.journals.at(-1);
  const kills = run.lives.length - 1;
  const resumed = journal?.ends.reduce((sum, end) => sum + end.resumed, 0) ?? 0;
  if (journal && resumed !== journal.restores) found.push(`resumed ${resumed}, and ${journal.restores} rlm_resume`);
  if (resumed > kills) found.push(`resumed ${resumed} after ${kills} kills`);
  for (const { replayed_sub_calls, call_count } of journal?.ends ?? []) {
    // Each restore gives again at the most what was recorded.
    if (replayed_sub_calls > call_count * Math.max(1, kills))
      found.push(`replayed ${replayed_sub_calls} of ${call_count}`);
  }
  return found;
}

function countBy<T extends { readonly prompt: string }>(items: readonly T[], keyOf = (item: T) => item.prompt) {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1);
  return counts;
}

function unequal(what: string, expected: readonly string[], actual: readonly string[]): string[] {
  if (expected.length !== actual.length) return [`${what}: ${actual.length}, not ${expected.length}`];
  return actual.flatMap((text, index) => {
    const wanted = expected[index] ?? "";
    return text === wanted ? [] : [`${what}[${index}] ${difference(wanted, text)}`];
  });
}
