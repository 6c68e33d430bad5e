import { shareStore } from "../store/index.ts";
import type { FromChild, ToChild } from "./child.ts";
import { processParts } from "./process-parts.ts";
import { tryJob, verdictOf } from "./try.ts";

/** A job may take so long to be suspended when its worker is gone, ms. */
const LEAVE_MS = 5000;

/** Tries the one job that the worker names, in this process. It ends with the worker: the job is suspended then. */
export async function serveWorker(): Promise<void> {
  const suspend = new AbortController();
  const changed = new AbortController();
  const task = Promise.withResolvers<Extract<ToChild, { kind: "try" }>>();
  process.on("message", (text) => {
    const message: ToChild = JSON.parse(String(text));
    if (message.kind === "try") task.resolve(message);
    else if (message.kind === "changed") changed.abort();
    else suspend.abort();
  });
  process.once("disconnect", () => {
    suspend.abort();
    setTimeout(() => process.exit(1), LEAVE_MS).unref();
  });
  // A terminal sends Ctrl-C to both. The worker says what becomes of the job.
  process.on("SIGINT", () => {});
  process.on("SIGTERM", () => suspend.abort());
  const { place, ticket, session } = await task.promise;
  try {
    await using store = await shareStore(place);
    const parts = await processParts({
      store,
      session,
      suspend: suspend.signal,
      onProgress: (progress) => void tell({ kind: "progress", progress }),
    });
    const verdict = await tryJob(parts, { ...ticket, changed: changed.signal });
    await tell({ kind: "verdict", verdict });
  } catch (error) {
    // A store that cannot be opened is no fault of the job.
    await tell({ kind: "verdict", verdict: verdictOf(error, ticket) });
  }
  if (process.connected) process.disconnect();
}

/** A worker that is gone hears nothing more. */
function tell(message: FromChild): Promise<void> {
  return new Promise((resolve) => {
    if (!process.send || !process.connected) return resolve();
    process.send(JSON.stringify(message), () => resolve());
  });
}
