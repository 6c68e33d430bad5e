import { readdirSync, readFileSync } from "node:fs";
import { send } from "../../platform/processes.ts";

/** The variable that marks the processes of an agent. The processes that they start have it too. */
export const MARK = "BELAY_AGENT";

/** A process by its id and the time of its start, which no later process with that id has. */
export interface KnownProcess {
  readonly pid: number;
  /** Clock ticks since the computer's start; null: the system does not say. */
  readonly born: string | null;
}

/** True if a group has a process. */
export function hasGroup(pid: number): boolean {
  try {
    process.kill(-pid, 0);
    return true;
  } catch {
    return false;
  }
}

export function processOf(pid: number): KnownProcess {
  return { pid, born: statOf(pid)?.born ?? null };
}

/** True if exactly this process still runs. False without `/proc`, where ids may be another one's. */
export function isRunning({ pid, born }: KnownProcess): boolean {
  const stat = statOf(pid);
  return stat !== null && stat.born === born && !"ZX".includes(stat.state);
}

/**
 * The processes with the mark of an agent, also those that have left its group. Empty without
 * `/proc`, and for those that have cleared their environment.
 */
export function markedBy(key: string): number[] {
  const wanted = Buffer.from(`\0${MARK}=${key}\0`);
  const pids = processes().filter((pid) => pid !== process.pid);
  return pids.filter((pid) => hasVariable(pid, wanted));
}

/** Sends a signal to the processes with the mark of an agent. */
export function endMarked(key: string, signal: NodeJS.Signals): void {
  for (const pid of markedBy(key)) send(pid, signal);
}

function processes(): number[] {
  try {
    return readdirSync("/proc").map(Number).filter(Boolean);
  } catch {
    return [];
  }
}

/** @param wanted a variable and its value, between NUL characters */
function hasVariable(pid: number, wanted: Buffer): boolean {
  try {
    const variables = readFileSync(`/proc/${pid}/environ`);
    const first = wanted.subarray(1);
    return variables.includes(wanted) || variables.subarray(0, first.length).equals(first);
  } catch {
    // It is another user's, or it has ended.
    return false;
  }
}

/** The state of a process and the time of its start; null: it has ended, or there is no `/proc`. */
function statOf(pid: number): { readonly state: string; readonly born: string } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name in parentheses may have spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { state: fields[0] ?? "X", born: fields[19] ?? "" };
  } catch {
    return null;
  }
}
