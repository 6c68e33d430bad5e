import { describeExecs } from "../../../src/history/index.ts";
import type { ExecDescription, SessionDescription } from "../../../src/index.ts";
import { askJournal, childJournal } from "./journal.ts";

/** A session of these execs. */
export function sessionOf(
  execs: readonly ExecDescription[],
  more: Partial<SessionDescription> = {},
): SessionDescription {
  return {
    ...{ id: "01X", name: "s", label: null, origin: "command", status: "idle", created_at: 0, changed_at: 0, bytes: 0 },
    ...{ holder: null, forked_from: null, head: null, settings: null, checkpoints: [] },
    ...{ sub_calls: 4, tokens: 1380, cost_usd: 0.09, context: null, last: null },
    execs,
    ...more,
  };
}

const CHILD = "01CHILDAAAAAAAAAAAAAAAAAAA";

/** The session of `askJournal`, with what the store tells of its child. */
export function asked(until?: "open" | "answered" | "cancelled"): SessionDescription {
  const description = sessionOf(describeExecs(childJournal()), { id: CHILD, name: null, origin: "child" });
  const execs = describeExecs(askJournal(until)).map((exec) => ({
    ...exec,
    calls: exec.calls.map((call) => (call.child ? { ...call, child: { ...call.child, description } } : call)),
  }));
  return sessionOf(execs, {
    status: until === "open" ? "unfinished" : "idle",
    checkpoints: [{ ...POINT, id: "01POINT-LOAD", exec_id: "load" }],
  });
}

export const POINT = { parent: null, kind: "end", at: 0, pages: 3, bytes: 2048, head: false } as const;
