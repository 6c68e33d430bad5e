import type { Session } from "../session/index.ts";

/** An exec of a session that is unfinished, and the calls that finish it; null: there is none. */
export function unfinishedOf(session: Session): { readonly exec_id: string; readonly suggestion: string } | null {
  const unfinished = session.unfinished();
  if (!unfinished) return null;
  const { exec_id, kind, input } = unfinished;
  const text = typeof input === "string" ? input : JSON.stringify(input);
  const told = { exec_id, kind, input: text.slice(0, INPUT_CHARACTERS) };
  const suggestion = "rlm_wait finishes it, and so does the same call again; rlm_wait with discard: true gives it up.";
  return { ...told, suggestion };
}

const INPUT_CHARACTERS = 200;
