/** A host that chooses the session by itself, and whose execs may continue after a call was answered. */
export interface SessionHost {
  /** Tells what there is. @throws RlmError */
  status(): Promise<object>;
  /** Goes over to another session, made if it is missing, and tells what there is. @throws RlmError */
  goTo(session: string): Promise<object>;
  /** Gives up what runs or is unfinished, and tells what there is. @throws RlmError */
  discard(): Promise<object>;
  /** A part of the answer of an exec that has ended, from this character on. @throws RlmError */
  page(exec_id: string | null, from: number): Promise<object>;
  /** The answer of an exec, waited for if it runs: of the newest one without an id. @throws RlmError */
  wait(exec_id: string | null): Promise<object>;
}
