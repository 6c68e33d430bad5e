import { type ChildProcess, spawnSync } from "node:child_process";
import { Socket } from "node:net";
import { errorCode } from "./errors.ts";

/** True if a process with this id runs on this machine. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) !== "ESRCH";
  }
}

/** Sends a signal to a process, or with a negative id to a group, unless it has ended. */
export function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended.
  }
}

/**
 * Sends a signal to the group of a process that was started with one. Windows has no groups: there the process ends at once,
 * with those that it and they have started. Whoever calls this still waits for the process, so its id is not another one's yet.
 */
export function sendToGroup(pid: number, signal: NodeJS.Signals): void {
  if (process.platform !== "win32") {
    send(-pid, signal);
    return;
  }
  const { status } = spawnSync("taskkill", ["/F", "/T", "/PID", String(pid)], { stdio: "ignore", windowsHide: true });
  if (status !== 0) send(pid, signal);
}

/** Lets a child and its pipes keep this process alive, or not. */
export function holdProcess(child: ChildProcess, isHeld: boolean): void {
  for (const part of [child, child.stdin, child.stdout, child.stderr]) {
    if (part === child || part instanceof Socket) part[isHeld ? "ref" : "unref"]();
  }
}
