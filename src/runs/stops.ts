import { onceAborted } from "../platform/signals.ts";
import type { SuspensionReason } from "../session/index.ts";
import type { JobOfRun } from "../store/index.ts";
import type { Tried } from "./dispatcher.ts";
import type { TryParts } from "./try-parts.ts";

/** Why a try was suspended. `left`: the job is another try's, or over. */
export type Suspended = { readonly why: "stopped" | "day" | "left" } | SuspensionReason;

export type Stops = ReturnType<typeof openStops>;

/** A try lasts at most so long, ms; the ticket's expiry after 24 h is the net below. */
const DAY_MS = 23 * 3600_000;
/** A ticket tells once that its job has changed. From then on the row is read as often as this, ms. */
const LOOK_MS = 10_000;

/** Reasons to stop a try while its cell runs. */
export function openStops(
  { jobs, stopped, after }: Pick<TryParts, "jobs" | "stopped" | "after">,
  ticket: Tried,
  fence: number,
) {
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

  /** The ticket's signal is a hint alone: the row says whether the job goes on. */
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
    /** The cell is to end: somebody cancels the job. */
    cancel: cancel.signal,
    /** The cell is to stop where it is. */
    suspend: suspend.signal,
    /** null: nothing suspended it. */
    suspended: () => why,
    park: (parked: SuspensionReason) => stop(parked),
    [Symbol.dispose]() {
      isOver = true;
      for (const callOff of [...callOffs, callOffLook]) callOff();
    },
  };
}
