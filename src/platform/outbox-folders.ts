import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { homeFolder } from "./home.ts";

// Agents of workflows print into outboxes: AGENTS/SESSION/CALL. Readers of the folders load nothing that starts an agent.

/** The names of what a folder holds; none if there is no such folder. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/**
 * The folder of the outboxes of all sessions of a store.
 *
 * @param texts of the store, beside which it is; null: it is on a server, whose sessions are not those of the store in that folder
 */
export const outboxesBeside = (texts: string | null): string =>
  texts === null ? join(homeFolder(process.env), "server-agents") : join(dirname(texts), "agents");

/** True for the name of a worktree in an outbox. */
export const isTree = (name: string): boolean => /^tree(?:\.\d{1,6})?$/.test(name);

/** The paths of the worktrees in an outbox. */
export const treesIn = (outbox: string): string[] =>
  namesIn(outbox).flatMap((name) => (isTree(name) ? [join(outbox, name)] : []));
