/** Fields that differ from run to run, or tell that a run was interrupted. */
const VARYING: ReadonlySet<string> = new Set([
  "session_id",
  "exec_id",
  "checkpoint_id",
  "call_id",
  "at",
  "sent_at",
  "time_ms",
  "elapsed_ms",
  "running_ms",
  "execution_time_ms",
  "remaining_time_ms",
  "attempts",
  "resumed",
  "replayed_sub_calls",
]);

/** The text of a value without what varies: equal for runs that came to the same. */
export function lasting(value: unknown): string {
  return JSON.stringify(value, (key, item) => (VARYING.has(key) ? undefined : item));
}

/** Does the same for a line of JSON. A line that is not JSON stays as it is. */
export function lastingLine(line: string): string {
  try {
    return lasting(JSON.parse(line));
  } catch {
    return line;
  }
}

/** Where two texts begin to differ, with what stands there in each. */
export function difference(expected: string, actual: string): string {
  let at = 0;
  while (at < expected.length && expected[at] === actual[at]) at++;
  const around = (text: string) => JSON.stringify(text.slice(Math.max(0, at - 60), at + 100));
  return `at ${at}: expected …${around(expected)}, got …${around(actual)}`;
}
