import type { Clock } from "../clock.ts";
import type { Printed } from "../protocol.ts";

/** Sends what a guest prints: at once at first, then a few times a second, so that a flood of prints is few messages. */
export function openPrintRelay(
  clock: Pick<Clock, "monotonic">,
  send: (parts: readonly Printed[]) => void,
): (part: Printed) => void {
  let sent = 0;
  let sentAt = 0;
  let held: Printed[] = [];
  return (part) => {
    held.push(part);
    const now = clock.monotonic();
    if (sent >= AT_ONCE && now - sentAt < EVERY_MS) return;
    if (now - sentAt > QUIET_MS) sent = 0;
    sent++;
    sentAt = now;
    send(held);
    held = [];
  };
}

const AT_ONCE = 50;
const EVERY_MS = 20;
/** After so long a silence parts are sent at once again. */
const QUIET_MS = 1000;
