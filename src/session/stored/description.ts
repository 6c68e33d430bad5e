import type { CheckpointRow, Store } from "../../store/index.ts";
import { readStepExtras } from "../journal/records.ts";
import { describeExecs, type ExecDescription } from "./exec-description.ts";
import { type SessionSummary, sessionNamed, summaryOf } from "./sessions.ts";

/** All that a store tells of a session: its execs with their calls, and its checkpoints. */
export interface SessionDescription extends Omit<SessionSummary, "execs"> {
  /** In journal order. */
  readonly execs: readonly ExecDescription[];
  /** The oldest first; `parent` makes a tree of them. */
  readonly checkpoints: readonly CheckpointDescription[];
}

export interface CheckpointDescription {
  readonly id: string;
  readonly parent: string | null;
  readonly exec_id: string;
  readonly kind: CheckpointRow["kind"];
  /** ms since the epoch. */
  readonly at: number;
  /** Pages of 4 KiB that changed, and what they take on disk, bytes. */
  readonly pages: number;
  readonly bytes: number;
  /** The session stands here. */
  readonly head: boolean;
}

/** @throws RlmError `session_not_found`, `store_corrupt` */
export async function describeSession(store: Store, nameOrId: string): Promise<SessionDescription> {
  const row = await sessionNamed(store, nameOrId);
  const [journal, checkpoints] = await Promise.all([store.journal(row.id), store.checkpoints(row.id)]);
  return {
    ...summaryOf(row),
    execs: describeExecs(journal.map(({ record }) => record)).map((exec) => withOutput(exec, checkpoints)),
    checkpoints: checkpoints.map(({ id, parent, exec_id, kind, at, pages, stored_bytes }) => ({
      id,
      parent,
      exec_id,
      kind,
      at,
      pages,
      bytes: stored_bytes,
      head: id === row.head,
    })),
  };
}

/** What an unfinished exec has printed stands in its newest checkpoint. */
function withOutput(exec: ExecDescription, checkpoints: readonly CheckpointRow[]): ExecDescription {
  const step = checkpoints.findLast(({ kind, exec_id }) => kind === "step" && exec_id === exec.exec_id);
  if (exec.status !== "unfinished" || !step) return exec;
  const { output, warnings } = readStepExtras(step.extras).state;
  return { ...exec, stdout: output.stdout, stderr: output.stderr, warnings };
}
