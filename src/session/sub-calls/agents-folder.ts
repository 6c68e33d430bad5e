import { hash } from "node:crypto";
import { existsSync, mkdtempSync, rmdirSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { makeFolder } from "../../platform/make-folder.ts";
import { namesIn, outboxesBeside, treesIn } from "../../platform/outbox-folders.ts";
import type { Store } from "../../store/index.ts";
import type { AgentPlace } from "../journal/records.ts";
import type { CallingSession } from "../parts.ts";

/** The folder of the outboxes of a session: one for each request to an agent, by the id of its call. */
export interface AgentsFolder {
  /** Makes it for this user alone, unless it is there. Returns its path. */
  make(): string;
  /** Returns the names of all outboxes. */
  runs(): readonly string[];
  /** Returns the names of the outboxes of a call: `EXEC.7`, and `EXEC.7.1` of its repair. */
  runsOf(call: string): readonly string[];
  pathOf(run: string): string;
  /** Returns the paths of the worktrees in an outbox. */
  treesIn(run: string): readonly string[];
  /** Returns the place for the record of a call; null: the outboxes go where the store goes. */
  place(): AgentPlace | null;
  /** Drops the folder if it is empty. */
  drop(): void;
}

/** Opens the folder of a session's agents. Nothing is made before the first of them. */
export function openAgentsFolder({ row, env, options }: Pick<CallingSession, "row" | "env" | "options">): AgentsFolder {
  const { store } = env;
  const { texts } = store;
  const isInMemory = texts?.isOwn === true;
  const isOfStore = options.agentsDir === undefined && texts !== null;
  /** null: the session is in memory, and no agent has been asked. */
  let base: string | null = baseOf();

  function baseOf(): string | null {
    return options.agentsDir === undefined ? usualFolder(store) : resolve(options.agentsDir);
  }

  const own = () => (base === null ? null : join(base, row.id));
  const runs = () => namesIn(own() ?? "");
  const pathOf = (run: string) => join(base ?? "", row.id, run);
  return {
    make() {
      base ??= mkdtempSync(join(tmpdir(), "belay-agents-"));
      const folder = join(base, row.id);
      makeFolder(folder);
      return folder;
    },
    runs,
    runsOf: (call) => runs().filter((name) => name === call || name.startsWith(`${call}.`)),
    pathOf,
    treesIn: (run) => treesIn(pathOf(run)),
    place() {
      if (isOfStore || base === null) return null;
      return { host: hostname(), outbox: hash("sha256", base).slice(0, PLACE_DIGITS) };
    },
    drop() {
      dropEmpty(own());
      if (isInMemory && options.agentsDir === undefined) dropEmpty(base);
    },
  };
}

/** The folder of the outboxes of all sessions of a store; null: the store is in memory. */
const usualFolder = ({ texts }: Pick<Store, "texts">) => (texts?.isOwn ? null : outboxesBeside(texts?.folder ?? null));

/** The ids of calls of a session whose agents were started on this computer, and whose outboxes are in the usual folder. */
export function startedAgents(store: Pick<Store, "texts">, session: string): ReadonlySet<string> {
  const own = join(usualFolder(store) ?? "", session);
  return new Set(namesIn(own).flatMap((run) => (existsSync(join(own, run, STARTED)) ? callOf(run) : [])));
}

/** The file of an outbox that is there before its agent is started. */
const STARTED = "started";

/** The call that a run belongs to: `EXEC.7` of `EXEC.7.1`. */
export const callOf = (run: string) => run.split(".", 2).join(".");

const PLACE_DIGITS = 16;

function dropEmpty(folder: string | null): void {
  if (folder === null) return;
  try {
    rmdirSync(folder);
  } catch {
    // Something is kept in it, or it was never made.
  }
}
