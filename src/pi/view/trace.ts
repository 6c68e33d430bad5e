import { type ExecDescription, type SessionDescription, walk } from "../../history/index.ts";
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

/** Execs and calls of a session. The records of a session that answers a call stand after the call. */
function recordsOf(session: SessionDescription, execs: readonly ExecDescription[]): readonly TraceRecord[] {
  const records: TraceRecord[] = [];
  for (const step of walk(session, { execs: (one) => (one === session ? execs : one.execs) })) {
    if (step.is === "session" && step.call) {
      const parent_call = step.call.call.call_id;
      records.push({ record: "session", session: step.session.id, parent_call, problem: null });
    } else if (step.is === "exec") {
      const { calls: _, ...exec } = step.exec;
      records.push({ record: "exec", session: step.in.session.id, ...exec });
    } else if (step.is === "call") {
      const { child, ...call } = step.call;
      const { exec } = step.of;
      const answered = { ...call, child: child?.session ?? null };
      records.push({ record: "call", session: step.of.in.session.id, exec_id: exec.exec_id, ...answered });
    }
  }
  return records;
}
