import type { Case, ScriptedReply } from "./case.ts";
import type { RepliesServer } from "./server.ts";
import type { Sessions } from "./sessions.ts";

/** Where cases are played. */
export interface Place {
  readonly server: RepliesServer;
  readonly sessions: Sessions;
  /** Has two files, for sub-agents. */
  readonly files: string;
  /** A folder that is the case's own. */
  folderOf(id: string): string;
}

/** Gives replies in the order of the requests; the last one repeats. */
export function inOrder({ prelude = [], replies }: Case): (index: number) => ScriptedReply {
  const all = [...prelude, ...replies];
  return (index) => all[Math.min(index, all.length - 1)] ?? {};
}
