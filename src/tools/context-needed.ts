import { RlmError } from "../../runtime/index.ts";
import type { Session } from "../session/index.ts";

/** Tools that work on the context fail without one (semantics 14). @throws RlmError `context_not_loaded` */
export function checkContext(session: Session): void {
  if (session.stats() !== null) return;
  throw new RlmError("context_not_loaded", "no context is loaded", { suggestion: "Call rlm_load first." });
}
