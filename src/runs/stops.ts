import { onceAborted } from "../platform/signals.ts";
import type { JobOfRun } from "../store/index.ts";
import type { Tried } from "./dispatcher.ts";
import type { Stops, Suspended, TryParts } from "./try-parts.ts";

/** A try lasts at most so long, ms; the ticket's expiry after 24 h is the net below. */
const DAY_MS = 23 * 3600_000;
/**
 * A ticket tells once that its job has changed. From then on the row is read as often as this, ms.
 */
const LOOK_MS = 10_000;

/** Reasons to stop a try while its cell runs. */
export function openStops(
  { jobs, stopped, after }: Pick<TryParts, "jobs" | "stopped" | "after">,
  ticket: Tried,
  fence: number,
): Stops {
  const cancel = new AbortController();
  const suspend = new AbortController();
  let isOver = false;
  let why: Suspended | null = null;
  let callOffLook = () => {};
  const stop = (reason: Suspended) => {
    if (isOver) return;
    why ??= reason;
    suspend.abort();
  };

  /** The ticket's signal is a hint alone: the row says whether the job continues. */
  async function look(): Promise<void> {
    const found = await jobs.read(ticket).catch(() => undefined);
    if (isOver) return;
    if (found?.job.state === "cancelling") cancel.abort();
    else if (found !== undefined && !isOurs(found)) stop({ why: "left" });
    callOffLook = after(LOOK_MS, () => void look());
  }
  const isOurs = (found: JobOfRun | null) =>
    found?.job.state === "running" && found.job.ticket === ticket.id && found.job.fence === fence;

  const callOffs = [
    after(DAY_MS, () => stop({ why: "day" })),
    onceAborted(stopped, () => stop({ why: "stopped" })),
    onceAborted(ticket.changed, () => void look()),
  ];
  return {
    cancel: cancel.signal,
    suspend: suspend.signal,
    suspended: () => why,
    park: stop,
    [Symbol.dispose]() {
      isOver = true;
      for (const callOff of [...callOffs, callOffLook]) callOff();
    },
  };
}
