import { type ChildProcess, fork } from "node:child_process";
import { type Channel, openCaller } from "../../runtime/index.ts";
import { entryUrl } from "../entries.ts";
import { onceAborted } from "../platform/signals.ts";
import type { WorkerSession, WorkOptions, WorkProgress } from "./api.ts";
import type { Tried, Verdict } from "./dispatcher.ts";

/**
 * A ticket that has lapsed so often is tried in a process of its own: it may be the job that ends
 * processes.
 */
export const LAPSES_APART = 2;

/**
 * The worker's one request to the process that tries a job. Its answer is the verdict, and its
 * notes are progress.
 */
export interface TryRequest {
  readonly place: string;
  readonly ticket: Ticket;
  readonly session: WorkerSession;
}

/** A note of the worker to that process meanwhile. */
export type TryNote = "changed" | "suspend";

type Ticket = Omit<Tried, "changed">;

interface ChildOptions extends Pick<WorkOptions, "onProgress" | "session" | "suspend"> {
  readonly place: string;
  /** Default: that of a build or checkout. */
  readonly entry?: URL;
}

/**
 * Tries a job in a process with a store connection of its own. Rejects if the process ends without
 * a verdict.
 */
export async function tryInChild(options: ChildOptions, { changed, ...ticket }: Tried): Promise<Verdict> {
  const { place, session, suspend, onProgress = () => {}, entry = entryUrl("runs/child-entry") } = options;
  const child = fork(entry, [], { stdio: ["ignore", "ignore", "pipe", "ipc"], execArgv: [] });
  const caller = openCaller<TryRequest, Verdict, TryNote, WorkProgress>(channelOfChild(child), onProgress);
  const callOffs = [
    onceAborted(changed, () => caller.tell("changed")),
    onceAborted(suspend, () => caller.tell("suspend")),
  ];
  try {
    return await caller.ask({ place, ticket, session: { ...session, subAgents: turnsOf(session) } });
  } finally {
    for (const callOff of callOffs) callOff();
    if (child.connected) child.disconnect();
  }
}

function channelOfChild<Heard>(child: ChildProcess): Channel<Heard> {
  let last = "";
  child.stderr?.on("data", (text) => {
    last = `${last}${text}`.slice(-LAST_WORDS);
  });
  return {
    // A process that has just ended takes no message: its end is what counts.
    send: (message) => void child.send(JSON.stringify(message), () => {}),
    hold() {},
    listen({ heard, gone }) {
      child.on("message", (text) => heard(JSON.parse(String(text))));
      child.on("error", gone);
      // `close`: all that it wrote has been read.
      child.on("close", (code, signal) => gone(new Error(endOf({ code, signal, last }))));
    },
  };
}

/** Characters of what a process wrote last that are kept. */
const LAST_WORDS = 500;

/** Functions do not cross to another process, and jobs are lent no tools. */
const turnsOf = ({ subAgents: { maxTurns } = {} }: WorkerSession) => (maxTurns === undefined ? {} : { maxTurns });

function endOf(end: { readonly code: number | null; readonly signal: string | null; readonly last: string }): string {
  const how = end.signal === null ? `with exit code ${end.code}` : `by ${end.signal}`;
  const said = end.last.trim();
  return `its process ended ${how}${said === "" ? "" : `: ${said}`}`;
}
