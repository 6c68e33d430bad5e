import type { Clock } from "../../../runtime/index.ts";
import type { Patience } from "../../models/index.ts";
import type { SessionEvent } from "../events.ts";
import { openStandingClock, type StandingClock } from "./standing-clock.ts";
import { openWaits } from "./waits.ts";

/** The patience of a tree of sessions with the servers of their models. */
export interface TreePatience extends Patience {
  readonly answered: Set<string>;
  /** The time of the tree's execs and calls, which stands still while a server is waited for. */
  readonly time: StandingClock;
}

/** The clock that waits are measured by, and the place where they are reported. */
interface Host {
  readonly clock: Clock;
  emit(event: SessionEvent): void;
}

/** @param mostMs the longest wait for a server, ms */
export function openPatience({ clock, emit }: Host, mostMs: number): TreePatience {
  const time = openStandingClock(clock);
  const opened = openWaits(clock, (wait) => emit({ kind: "waiting", wait }));
  return {
    clock,
    mostMs,
    time,
    answered: new Set(),
    firstToken: (model, most_ms) => opened({ for: "first_token", of: model, since: clock.monotonic(), most_ms }),
    async waiting(server, since, work) {
      const of = URL.parse(server)?.origin ?? server;
      using _told = opened({ for: "server", of, since, most_ms: mostMs });
      return await time.paused(work);
    },
  };
}
