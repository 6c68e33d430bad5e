import { RlmError, remedy } from "../../runtime/index.ts";
import { largeNote, toldSkips } from "../context/index.ts";
import { describeSession } from "../history/index.ts";
import { withoutUndefined } from "../platform/json.ts";
import { jsonText } from "../platform/visible.ts";
import { coverageSentence, type RecordedAnswer, recordedAnswer, type Session, summaryOf } from "../session/index.ts";
import { changedSentence, fitted, unfinishedOf } from "../tools/index.ts";
import type { CallRunner } from "./call-runner.ts";
import type { Connection } from "./connection.ts";
import { SESSION_RESOURCE } from "./protocol.ts";

/** Tells what rlm_status answers. */
export async function statusOf(connection: Connection, runner: CallRunner) {
  const session = await connection.look();
  const running = runner.current();
  const { rows, damaged } = await connection.ofFolder();
  const { coverage, waits_for } = await describeSession(await connection.store(), session.id, { partly: true });
  const passedOver = damaged.map(
    ({ problem }) => `session_damaged: ${problem}: it is passed over, and the user can run belay doctor`,
  );
  const others = rows.filter(({ id }) => id !== session.id);
  return {
    session: session.name,
    session_id: session.id,
    context: await contextOf(session, await connection.roots.first()),
    budget: session.budget(),
    running,
    unfinished: running ? null : unfinishedOf(session),
    waits_for: running ? null : (waits_for ?? null),
    roots: await connection.roots.now(),
    sessions: others.slice(0, LISTED).map((row) => {
      const { name, status, changed_at, context, waits_for } = summaryOf(row);
      const sources = context?.sources ?? [];
      const facts = { session: name, status, changed_at: new Date(changed_at).toISOString(), sources };
      return { ...facts, ...withoutUndefined({ waits_for }) };
    }),
    coverage: coverage ? coverageSentence(coverage) : null,
    ...(damaged.length > 0 ? { warnings: passedOver.slice(0, LISTED) } : {}),
  };
}

const LISTED = 20;

async function contextOf(session: Session, cwd: string) {
  const stats = session.stats();
  if (!stats) return null;
  const changed = changedSentence(await session.changedFiles(), cwd);
  const { sources, document_count, length_chars, length_tokens_estimate, skipped } = stats;
  const note = largeNote(stats);
  return {
    sources,
    document_count,
    length_chars,
    length_tokens_estimate,
    ...(note === null ? {} : { note }),
    skipped: toldSkips(skipped, LISTED),
    changed,
  };
}

/**
 * The answer of an exec that has ended. @throws RlmError `invalid_argument` if the session has none
 * by that id
 */
export async function answerOfExec(connection: Connection, exec_id: string | null): Promise<RecordedAnswer> {
  const session = await connection.look();
  const recorded = await recordedAnswer(await connection.store(), session, exec_id);
  if (recorded) return recorded;
  const missing =
    exec_id === null ? "nothing has been run in this session yet" : `there is no exec ${exec_id} that is over`;
  throw new RlmError("invalid_argument", missing, {
    suggestion: exec_id === null ? `Load a context: ${remedy("load")}.` : "Leave exec_id out to get the newest.",
  });
}

const EXEC = /^belay:\/\/exec\/([0-9A-Za-z]+)$/;
const RESOURCE_BYTES = 1_000_000;
const EXECS_LISTED = 200;

/** The text of a resource; null if there is none at this address. @throws RlmError */
export async function readResource(
  uri: string,
  { connection, runner }: { readonly connection: Connection; readonly runner: CallRunner },
): Promise<string | null> {
  const [, exec_id] = EXEC.exec(uri) ?? [];
  if (exec_id !== undefined) {
    const { answer } = await answerOfExec(connection, exec_id);
    return jsonText(
      fitted(answer, "The rest of it is in the store: the user has it with `belay show`.", RESOURCE_BYTES),
    );
  }
  if (uri !== SESSION_RESOURCE.uri) return null;
  const status = await statusOf(connection, runner);
  const { execs, checkpoints } = await describeSession(await connection.store(), status.session_id);
  const listed = execs.slice(-EXECS_LISTED).toReversed();
  return jsonText({
    ...status,
    checkpoints: checkpoints.length,
    execs: listed.map(({ exec_id, number, kind, input, status, error_code, time_ms, tokens, cost_usd, calls }) => {
      return { exec_id, number, kind, input, status, error_code, time_ms, tokens, cost_usd, sub_calls: calls.length };
    }),
  });
}
