import { hash } from "node:crypto";
import type { Json } from "../../runtime/index.ts";
import { isRecord } from "../platform/json.ts";
import type { Signer } from "../settings/signed-settings.ts";
import type { Start } from "./journal/records.ts";

/**
 * Says which execs are workflows of the user's. A record only claims it: a store may come from another user, and agents run with
 * the rights of whoever resumes.
 */
export interface WorkflowMarks {
  /** Returns the mark to keep with an exec of this cell, signed with the user's key if there is one. */
  mark(exec_id: string, cell: string): Json;
  /** Why the calls of an exec may not ask agents, as a sentence; null: they may. */
  doubt(start: Pick<Start, "exec_id" | "cell" | "workflow">): string | null;
}

export const NO_WORKFLOW = "only cells of workflows have agents";

/** All workflows of a store are signed alike, so that forks keep the signature. */
const SUBJECT = "workflow of a session";

/** @param signer null: only execs that began in this process count */
export function openWorkflowMarks(signer: Pick<Signer, "sign" | "doubt"> | null): WorkflowMarks {
  const begunHere = new Set<string>();
  return {
    mark(exec_id, cell) {
      begunHere.add(exec_id);
      return signer?.sign({ exec_id, cell: hash("sha256", cell) }, SUBJECT) ?? true;
    },
    doubt({ exec_id, cell, workflow }) {
      if (workflow === undefined) return NO_WORKFLOW;
      if (begunHere.has(exec_id)) return null;
      const isOf = isRecord(workflow) && workflow.exec_id === exec_id && workflow.cell === hash("sha256", cell ?? "");
      if (!isOf) return "nothing proves that you began this workflow";
      const doubt = signer ? signer.doubt(workflow, SUBJECT) : "no key is there to check it";
      return doubt === null ? null : `nothing proves that you began this workflow: ${doubt}`;
    },
  };
}
