import { RlmError } from "../../runtime/index.ts";
import { defineOpeningTool, type Tool } from "./define.ts";

/**
 * A host that chooses the session by itself, and whose execs may continue after a call was
 * answered.
 */
export interface SessionHost {
  /** Tells what there is. @throws RlmError */
  status(): Promise<object>;
  /**
   * Goes over to another session, made if it is missing, and tells what there is. @throws RlmError
   */
  goTo(session: string): Promise<object>;
  /** Gives up what runs or is unfinished, and tells what there is. @throws RlmError */
  discard(): Promise<object>;
  /** A part of the answer of an exec that has ended, from this character on. @throws RlmError */
  page(exec_id: string | null, from: number): Promise<object>;
  /**
   * The answer of an exec, waited for if it runs: of the newest one without an id. @throws RlmError
   */
  wait(exec_id: string | null): Promise<object>;
}

export const rlm_status = (host: Pick<SessionHost, "status">): Tool =>
  defineOpeningTool({
    name: "rlm_status",
    label: "RLM status",
    description: "The session: context, budget, what runs or is unfinished, other sessions of this folder.",
    promptSnippet: "See the session, its context and its budget",
    parameters: { type: "object", properties: {} },
    moved: { session: "rlm_wait", discard: "rlm_wait" },
    run: () => host.status(),
    rest: "Load fewer sources, or ask for one thing at a time.",
    failureFields: {
      session: null,
      context: null,
      budget: null,
      running: null,
      unfinished: null,
      roots: [],
      sessions: [],
      coverage: null,
    },
  });

export const rlm_wait = (host: SessionHost): Tool =>
  defineOpeningTool({
    name: "rlm_wait",
    label: "RLM wait",
    description: "Wait for what runs, and get its answer; or the answer of an exec that is over.",
    promptSnippet: "Wait for the answer of an exec that runs",
    parameters: {
      type: "object",
      properties: {
        exec_id: { type: "string", description: "Default: the newest" },
        from: { type: "integer", minimum: 0, description: "Of an answer that was cut: from this character on" },
        discard: { type: "boolean", description: "Do not wait: give up what runs or is unfinished" },
        session: { type: "string", description: "Do not wait: go over to this session; made if missing" },
      },
    },
    async run(_open, { exec_id = null, from, discard, session }) {
      if (discard && session !== undefined) {
        throw new RlmError("invalid_argument", "rlm_wait: discard and session do not go together", {
          suggestion: "Call it twice: discard gives up what is unfinished in the session that is open.",
        });
      }
      if (session !== undefined) return host.goTo(session);
      if (discard) return host.discard();
      return from === undefined ? host.wait(exec_id) : host.page(exec_id, from);
    },
    failureFields: { exec_id: null },
  });
