import { type Channel, serveCaller } from "../../runtime/index.ts";
import { shareStore } from "../store/index.ts";
import type { WorkProgress } from "./api.ts";
import type { TryNote, TryRequest } from "./child.ts";
import type { Verdict } from "./dispatcher.ts";
import { processParts } from "./process-parts.ts";
import { tryJob, verdictOf } from "./try.ts";

/** A job may take so long to be suspended when its worker is gone, ms. */
const LEAVE_MS = 5000;

/**
 * Tries the one job that the worker names, in this process. It ends with the worker: the job is
 * suspended then.
 */
export function serveWorker(): void {
  const suspend = new AbortController();
  const changed = new AbortController();

  async function answer({ place, ticket, session }: TryRequest): Promise<Verdict> {
    try {
      await using store = await shareStore(place);
      const parts = await processParts({ store, session, suspend: suspend.signal, onProgress: tell });
      return await tryJob(parts, { ...ticket, changed: changed.signal });
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
