import { join } from "node:path";
import { RlmError } from "../../index.ts";
import { loadAgentLayer } from "../../models/index.ts";
import { amount } from "../../platform/figures.ts";
import { namesIn, outboxesBeside, treesIn } from "../../platform/outbox-folders.ts";
import { inLine } from "../../platform/visible.ts";
import type { Store } from "../../store/index.ts";
import { isServer } from "../../store/store-place.ts";

/** The outboxes of the agents of one session, on this computer. */
export interface Outboxes {
  /** The id of the session. */
  readonly session: string;
  readonly folder: string;
  readonly agents: number;
  /** Worktrees in which agents have changed something. */
  readonly trees: readonly string[];
}

/**
 * The outboxes that sessions of a store have here: agents are processes of this computer.
 *
 * @param place of the store
 */
export function outboxesOf(place: string): readonly Outboxes[] {
  const folder = outboxesBeside(isServer(place) ? null : join(place, "texts"));
  const all = namesIn(folder).map((session) => {
    const own = join(folder, session);
    const runs = namesIn(own);
    const trees = runs.flatMap((run) => treesIn(join(own, run)));
    return { session, folder: own, agents: runs.length, trees };
  });
  return all.filter(({ agents }) => agents > 0);
}

/**
 * Refuses to drop the work of agents unasked.
 *
 * @param line drops it
 * @throws RlmError `worktrees_changed`
 */
export function refuseTrees(name: string, { trees }: Outboxes, line: string): void {
  if (trees.length === 0) return;
  const listed = trees.slice(0, TREES_LISTED).map(inLine).join(", ");
  const more = trees.length > TREES_LISTED ? ` and ${trees.length - TREES_LISTED} more` : "";
  const problem = `${name} has ${amount(trees.length, "worktree")} with changes of its agents: ${listed}${more}`;
  throw new RlmError("worktrees_changed", problem, {
    suggestion: `Take over what you want of them, such as with git; \`${line}\` drops them too.`,
  });
}

const TREES_LISTED = 5;

/** Ends the agents of a session that is gone, and drops their outboxes and worktrees. */
export async function dropOutboxes({ folder, session }: Outboxes): Promise<void> {
  const { dropRuns } = await loadAgentLayer();
  await dropRuns(folder, session);
}

/** `, with the outbox of an agent and 2 worktrees`; empty if there was nothing. */
export function droppedText({ agents, trees }: Pick<Outboxes, "agents" | "trees">): string {
  const left = trees.length > 0 ? ` and ${amount(trees.length, "worktree")}` : "";
  return agents === 0 ? "" : `, with ${amount(agents, "outbox of its agents", "outboxes of its agents")}${left}`;
}

/**
 * The outboxes that are to go if their session does. On a server's store these are those of its
 * sessions: the others may be those of another server.
 */
export async function outboxesToWatch(place: string, store: Pick<Store, "find">): Promise<readonly Outboxes[]> {
  const all = outboxesOf(place);
  return isServer(place) ? having(all, store, true) : all;
}

/** Those of these outboxes whose session is gone. */
export function orphansAmong(all: readonly Outboxes[], store: Pick<Store, "find">): Promise<readonly Outboxes[]> {
  return having(all, store, false);
}

async function having(all: readonly Outboxes[], store: Pick<Store, "find">, isThere: boolean): Promise<Outboxes[]> {
  const found: Outboxes[] = [];
  for (const outboxes of all) {
    // A damaged session is there.
    const row = await store.find(outboxes.session).catch(() => "damaged");
    if ((row !== null) === isThere) found.push(outboxes);
  }
  return found;
}
