import { readFileSync } from "node:fs";

/** A run of an agent, as it noted itself. */
export interface NotedRun {
  readonly name: string;
  /** That of its call: session, call and number of the request. */
  readonly key: string;
  readonly pid: number;
  /** Its parent's, which is its keeper. */
  readonly keeper: number;
  /** Lines of the log: when it began, and when it had printed its answer; null: it has not. */
  readonly began: number;
  readonly ended: number | null;
}

/** Runs of agents in the order of their starts. */
export function readAgentsLog(log: string): readonly NotedRun[] {
  const runs = new Map<string, NotedRun>();
  const lines = readFileSync(log, "utf8").split("\n").filter(Boolean);
  for (const [at, line] of lines.entries()) {
    const [what = "", name = "", key = "", pid = "", keeper = ""] = line.split(" ");
    const id = `${key} ${pid}`;
    const known = runs.get(id);
    if (what === "start") runs.set(id, { name, key, pid: Number(pid), keeper: Number(keeper), began: at, ended: null });
    else if (known) runs.set(id, { ...known, ended: at });
    else throw new Error(`${log}: ${line} ends what has not begun`);
  }
  return [...runs.values()];
}

/**
 * Finds agents that were started more often than they may be: a line each.
 *
 * @param cut how often the keeper of each key was killed while its agent may have worked: so often nobody could know of its end
 */
export function startedTwice(runs: readonly NotedRun[], cut: ReadonlyMap<string, number>): readonly string[] {
  const byKey = Map.groupBy(runs, ({ key }) => key);
  return [...byKey].flatMap(([key, all]) => {
    const most = 1 + (cut.get(key) ?? 0);
    const name = all[0]?.name ?? "";
    const again = all.find(({ began }) => all.some(({ ended }) => ended !== null && ended < began));
    if (again) return [`${name} (${key}) was started again after its end`];
    return all.length > most ? [`${name} (${key}) was started ${all.length} times, at most ${most} are right`] : [];
  });
}
