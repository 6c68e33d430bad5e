import { type ChildProcess, fork } from "node:child_process";
import { type Channel, openCaller, serveCaller } from "../../runtime/index.ts";
import { entryUrl } from "../entries.ts";
import { onceAborted } from "../platform/signals.ts";
import { shareStore } from "../store/index.ts";
import type { WorkerSession, WorkOptions, WorkProgress } from "./api.ts";
import type { Tried, Verdict } from "./dispatcher.ts";
import { MOST_BUSY_MS, processParts } from "./process-parts.ts";
import { tryJob, verdictOf } from "./try.ts";

/**
 * The worker's one request to the process that tries a job. Its answer is the verdict, and its
 * notes are progress.
 */
interface TryRequest {
  readonly place: string;
  readonly ticket: Ticket;
  readonly session: WorkerSession;
  readonly resendsDoubtful: boolean;
}

/** A note of the worker to that process meanwhile. */
type TryNote = "changed" | "suspend";

type Ticket = Omit<Tried, "changed">;

interface ChildOptions extends Pick<WorkOptions, "onProgress" | "resendsDoubtful" | "session" | "suspend"> {
  readonly place: string;
  /** Default: that of a build or checkout. */
  readonly entry?: URL;
}

/**
 * Tries a job in a process with a store connection of its own. Rejects if the process ends without
 * a verdict.
 */
export async function tryInChild(options: ChildOptions, { changed, ...ticket }: Tried): Promise<Verdict> {
  const {
    place,
    session,
    suspend,
    resendsDoubtful = false,
    onProgress = () => {},
    entry = entryUrl("runs/child-entry"),
  } = options;
  const child = fork(entry, [], { stdio: ["ignore", "ignore", "pipe", "ipc"], execArgv: [] });
  const caller = openCaller<TryRequest, Verdict, TryNote, WorkProgress>(channelOfChild(child), onProgress);
  const callOffs = [
    onceAborted(changed, () => caller.tell("changed")),
    onceAborted(suspend, () => caller.tell("suspend")),
  ];
  try {
    return await caller.ask({ place, ticket, resendsDoubtful, session: { ...session, subAgents: turnsOf(session) } });
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

/** A job may take so long to be suspended when its worker is gone, ms. */
const LEAVE_MS = 5000;

/**
 * Tries the one job that the worker names, in this process. It ends with the worker: the job is
 * suspended then.
 */
export function serveWorker(): void {
  const suspend = new AbortController();
  const changed = new AbortController();

  async function answer({ place, ticket, session, resendsDoubtful }: TryRequest): Promise<Verdict> {
    try {
      await using store = await shareStore(place);
      const own = { store, session, resendsDoubtful, suspend: suspend.signal, onProgress: tell };
      const parts = await processParts(own);
      // Each such process would begin to count anew.
      const patient = { ...parts, busyMs: () => MOST_BUSY_MS };
      return await tryJob(patient, { ...ticket, changed: changed.signal });
    } catch (error) {
      // A store that cannot be opened is no fault of the job.
      return verdictOf(error, ticket);
    }
  }

  const heard = (note: TryNote) => (note === "changed" ? changed : suspend).abort();
  const tell = serveCaller<TryRequest, Verdict, TryNote, WorkProgress>(channelOfParent(), { answer, heard });
  process.once("disconnect", () => {
    suspend.abort();
    setTimeout(() => process.exit(1), LEAVE_MS).unref();
  });
  // A terminal sends Ctrl-C to both. The worker says what becomes of the job.
  process.on("SIGINT", () => {});
  process.on("SIGTERM", () => suspend.abort());
}

/** The worker disconnects when it has the verdict. One that is gone hears nothing more. */
function channelOfParent<Heard>(): Pick<Channel<Heard>, "send" | "listen"> {
  return {
    send(message) {
      if (process.connected) process.send?.(JSON.stringify(message), () => {});
    },
    listen: ({ heard }) => void process.on("message", (text) => heard(JSON.parse(String(text)))),
  };
}
