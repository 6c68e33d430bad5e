import type { ExecDescription, SessionDescription } from "../../history/index.ts";
import type { BranchReport } from "./report.ts";

/** A line of the file of `/rlm trace`: a conversation, an epoch, a compaction, a session, an exec or a call. */
type TraceRecord = { readonly record: string; readonly [field: string]: unknown };

/** Epochs, compactions, sessions, and each exec and sub-call with the one that made it. Times are ms since 1970. */
export function traceRecords({ overview, size, sessions }: BranchReport): readonly TraceRecord[] {
  const { objects, epochs, compactions, isOff } = overview;
  const counts = Object.fromEntries(
    (["in", "out", "folded"] as const).map((state) => [state, objects.filter(({ is }) => is === state).length]),
  );
  return [
    { record: "conversation", objects: counts, off: isOff, next_request: size },
    ...epochs.map((epoch) => ({ record: "epoch", ...epoch })),
    ...compactions.map((compaction) => ({ record: "compaction", ...compaction })),
    ...sessions.flatMap(({ id, session, execs, problem }) => [
      { record: "session", session: id, parent_call: null, problem },
      ...(session ? recordsOf(session, execs) : []),
    ]),
  ];
}

/** A stack of its own: how deep a stored tree is, its writer decides. */
function recordsOf(session: SessionDescription, execs: readonly ExecDescription[]): readonly TraceRecord[] {
  const records: TraceRecord[] = [];
  const waiting = [{ session: session.id, execs }];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    for (const { calls, ...exec } of next.execs) {
      records.push({ record: "exec", session: next.session, ...exec });
      for (const { child, ...call } of calls) {
        records.push({
          record: "call",
          session: next.session,
          exec_id: exec.exec_id,
          ...call,
          child: child?.session ?? null,
        });
        if (!child?.description) continue;
        records.push({ record: "session", session: child.session, parent_call: call.call_id, problem: null });
        waiting.push({ session: child.session, execs: child.description.execs });
      }
    }
  }
  return records;
}
