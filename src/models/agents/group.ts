import { readdirSync, readFileSync } from "node:fs";
import { send } from "../../platform/processes.ts";

/**
 * The variable that marks the processes of an agent. The processes that they start have it too. Its value is the key of the
 * agent's call, a slash, and what no other start has.
 */
export const MARK = "BELAY_AGENT";

/** A process by its id and the time of its start, which no later process with that id has. */
export interface KnownProcess {
  readonly pid: number;
  /** Clock ticks since the computer's start; null: the system does not say. */
  readonly born: string | null;
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
 *
 * @param key of one start, or of all starts of a call
 */
export function markedBy(key: string): number[] {
  const wanted = ["\0", "/"].map((end) => Buffer.from(`\0${MARK}=${key}${end}`));
  const pids = processes().filter((pid) => pid !== process.pid);
  return pids.filter((pid) => hasOneOf(pid, wanted));
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

/** True if the variables of a process, each of which ends with a NUL character, have one of these. */
function hasOneOf(pid: number, wanted: readonly Buffer[]): boolean {
  try {
    const variables = Buffer.concat([NUL, readFileSync(`/proc/${pid}/environ`)]);
    return wanted.some((one) => variables.includes(one));
  } catch {
    // It is another user's, or it has ended.
    return false;
  }
}

const NUL = Buffer.alloc(1);

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
