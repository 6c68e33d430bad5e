import type { Session } from "../session/index.ts";

/** An exec of a session that is unfinished, and the calls that finish it; null: there is none. */
export function unfinishedOf(session: Session): { readonly exec_id: string; readonly suggestion: string } | null {
  const unfinished = session.unfinished();
  if (!unfinished) return null;
  const { exec_id, kind, input } = unfinished;
  const text = typeof input === "string" ? input : JSON.stringify(input);
  const told = { exec_id, kind, input: text.slice(0, INPUT_CHARACTERS) };
  return { ...told, suggestion: BY_CALLING };
}

const BY_CALLING =
  "The same call again finishes it, and any other call finishes it first; rlm_load with reset: true gives it up.";
const INPUT_CHARACTERS = 200;
