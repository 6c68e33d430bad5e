import { fork } from "node:child_process";
import { entryUrl } from "../entries.ts";
import { onceAborted } from "../platform/signals.ts";
import type { WorkerSession, WorkOptions, WorkProgress } from "./api.ts";
import type { Tried, Verdict } from "./dispatcher.ts";

/** A ticket that has lapsed so often is tried in a process of its own: it may be the job that ends processes. */
export const LAPSES_APART = 2;

/** From the worker to the process that tries one job. */
export type ToChild =
  | { readonly kind: "try"; readonly place: string; readonly ticket: Ticket; readonly session: WorkerSession }
  | { readonly kind: "changed" | "suspend" };

/** From that process. Its last word is the verdict. */
export type FromChild =
  | { readonly kind: "progress"; readonly progress: WorkProgress }
  | { readonly kind: "verdict"; readonly verdict: Verdict };

type Ticket = Omit<Tried, "changed">;

interface ChildOptions extends Pick<WorkOptions, "onProgress" | "session" | "suspend"> {
  readonly place: string;
  /** Default: that of a build or checkout. */
  readonly entry?: URL;
}

/** Tries a job in a process with a store connection of its own. Rejects if the process ends without a verdict. */
export async function tryInChild(options: ChildOptions, { changed, ...ticket }: Tried): Promise<Verdict> {
  const { place, session, suspend, onProgress = () => {}, entry = entryUrl("runs/child-entry") } = options;
  const child = fork(entry, [], { stdio: ["ignore", "ignore", "pipe", "ipc"], execArgv: [] });
  const told = Promise.withResolvers<Verdict>();
  let last = "";
  const say = (message: ToChild) => {
    // A process that has just ended takes no message: its end is what counts.
    child.send(JSON.stringify(message), () => {});
  };
  child.stderr?.on("data", (text) => {
    last = `${last}${text}`.slice(-LAST_WORDS);
  });
  child.on("message", (text) => {
    const message: FromChild = JSON.parse(String(text));
    if (message.kind === "progress") onProgress(message.progress);
    else told.resolve(message.verdict);
  });
  child.on("error", told.reject);
  // `close`: all that it wrote has been read.
  child.on("close", (code, signal) => told.reject(new Error(endOf({ code, signal, last }))));
  say({ kind: "try", place, ticket, session: { ...session, subAgents: turnsOf(session) } });
  const callOffs = [
    onceAborted(changed, () => say({ kind: "changed" })),
    onceAborted(suspend, () => say({ kind: "suspend" })),
  ];
  try {
    return await told.promise;
  } finally {
    for (const callOff of callOffs) callOff();
    if (child.connected) child.disconnect();
  }
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
