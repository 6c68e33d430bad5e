import { difference } from "../compare.ts";
import type { AskRun } from "./run.ts";
import { REQUESTS, SESSIONS } from "./tree.ts";

/** What is wrong with an interrupted ask, by the uninterrupted one: a line for each finding. */
export function judgeAsk(reference: AskRun, run: AskRun): string[] {
  return [...ofAnswer(reference, run), ...ofSessions(run), ...ofRequests(reference, run)];
}

/** The answer, and what it has taken: `usage` and `budget` are of the whole tree. */
function ofAnswer(reference: AskRun, run: AskRun): string[] {
  const last = run.lives.at(-1);
  if (!last || last.hung) return ["the last process did not end"];
  if (last.code !== 0)
    return [`exit code ${last.code}; ${last.stdout.slice(0, 500)}; ${last.stderr.trim().slice(0, 500)}`];
  const [expected, actual] = [reference.lives.at(-1)?.stdout ?? "", last.stdout].map(lastingAnswer);
  return expected === actual ? [] : [`answer ${difference(expected ?? "", actual ?? "")}`];
}

function lastingAnswer(stdout: string): string {
  const { session_id, ask_id, execution_time_ms, resumed, replayed_turns, budget, ...answer } = JSON.parse(
    stdout.trim().split("\n").at(-1) || "{}",
  );
  const { remaining_time_ms, session, ...left } = budget ?? {};
  const { time_ms, ...spent } = session ?? {};
  return JSON.stringify({ ...answer, budget: { ...left, session: spent } });
}

/** Each child was made once, and nothing is left open. */
function ofSessions({ families }: AskRun): string[] {
  const last = families.at(-1);
  if (!last) return ["there is no session"];
  const { sessions, open, replies } = last;
  return [
    ...(sessions.length === SESSIONS ? [] : [`${sessions.length} sessions, not ${SESSIONS}`]),
    ...(open === 0 ? [] : [`${open} asks are not over`]),
    ...(replies === REQUESTS ? [] : [`${replies} replies are recorded, not ${REQUESTS}`]),
    ...sessions.filter(({ busy }) => busy).map(({ id }) => `session ${id} is held`),
  ];
}

/**
 * The same requests as without a kill, byte for byte. One follows the other, so of a killed process only its last one may be
 * sent again, and that only if its reply was not recorded.
 */
function ofRequests(reference: AskRun, run: AskRun): string[] {
  const expected = new Set(reference.requests.map(({ body }) => body));
  const found = [...new Set(run.requests.map(({ body }) => body))].flatMap((body) =>
    expected.has(body) ? [] : [`a request that the uninterrupted ask does not make: ${body.slice(-300)}`],
  );
  for (const body of expected) {
    if (!run.requests.some((request) => request.body === body)) found.push(`not requested: ${body.slice(-300)}`);
  }
  const asked: string[] = [];
  run.lives.forEach((_, index) => {
    const bodies = run.requests.filter(({ life }) => life === index + 1).map(({ body }) => body);
    const before = new Set(asked);
    const recorded = run.families[index - 1]?.replies ?? 0;
    const mayBeSentAgain = recorded < before.size ? asked.at(-1) : undefined;
    for (const body of bodies) {
      if (before.has(body) && body !== mayBeSentAgain)
        found.push(`process ${index + 1} asked again: ${body.slice(-300)}`);
    }
    if (new Set(bodies).size < bodies.length) found.push(`process ${index + 1} asked twice`);
    asked.push(...bodies);
  });
  return found;
}
