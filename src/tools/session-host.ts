import type { ToolCall } from "./define.ts";

/** A host that chooses the session by itself, and whose execs may go on after a call was answered. */
export interface SessionHost {
  /** Tells what there is. Goes over to another session, or gives up what is unfinished, if it is asked to. @throws RlmError */
  status(asked: { readonly session?: string; readonly discard?: boolean }, call: ToolCall): Promise<object>;
  /** The answer of an exec, waited for if it runs: of the newest one without an id. @throws RlmError */
  wait(exec_id: string | null, call: ToolCall): Promise<object>;
}
