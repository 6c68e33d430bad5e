import { RlmError } from "../../runtime/index.ts";

/** Stands for the session that was changed last, those of Pi left out. It cannot be a session's name. */
export const LAST_SESSION = "@last";

/** True for what a session or a run may be called. */
export const isName = (name: string) => /^[\p{L}\p{N}][\p{L}\p{N} ._~-]{0,99}$/u.test(name);

/** Words of `belay jobs`, which no run may be called. */
export const RUN_VERBS = ["cancel", "retry", "pause", "resume", "out", "rm"] as const;

/** True for a name that a run may have. */
export const isRunName = (name: string) => isName(name) && !RUN_VERBS.some((verb) => verb === name);

/** @throws RlmError `invalid_argument` for a name that a session cannot have */
export function checkSessionName(name: string): void {
  if (isName(name)) return;
  throw new RlmError("invalid_argument", `${JSON.stringify(name)} is not a valid session name`, {
    suggestion:
      "Use up to 100 letters, digits, spaces, dots, dashes, tildes and underscores, beginning with a letter or digit.",
  });
}

/** The first of `NAME-2`, `NAME-3` … that is free. */
export async function nextName(name: string, isTaken: (name: string) => Promise<boolean>): Promise<string> {
  let number = 2;
  while (await isTaken(`${name}-${number}`)) number += 1;
  return `${name}-${number}`;
}
