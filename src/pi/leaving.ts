import { PI_DEFAULTS } from "../settings/index.ts";
import { contextLeft } from "./host.ts";
import type { OnBranch } from "./on-branch.ts";
import { keepLeftRun, leftRuns } from "./runs/left.ts";
import { settledWithin } from "./waiting.ts";

/** Pi's reasons to leave a session for another one. */
const SWITCHES = ["new", "resume", "fork"];

/** A load, for example, that has not ended by then is interrupted by the end of the process. */
const CLOSE_MS = 5_000;

/**
 * Leaves a session with Pi. If it goes to another one, a call runs on, unless the settings forbid it. Else what runs is suspended, and if
 * Pi quits, also what runs in sessions that it has left; recovery finishes it when Pi comes back.
 */
export async function leave(branch: OnBranch, reason: string | undefined): Promise<void> {
  const { begun, clock, context, goTo, runs } = branch;
  const isSwitch = reason !== undefined && SWITCHES.includes(reason);
  const close = async () => (await begun())?.[Symbol.asyncDispose]();
  const goingOn = runs.leave(isSwitch && mayRunOn(branch));
  if (goingOn) {
    goTo(contextLeft(context()));
    const { over, ...run } = goingOn;
    const closed = over.then(close).catch(() => {});
    keepLeftRun({ ...run, cancel: runs.cancel, suspend: runs.suspend }, closed);
    return;
  }
  const others = isSwitch || reason === "reload" ? [] : leftRuns();
  for (const { suspend } of others) suspend();
  const closing = [close().catch(() => {}), ...others.map(({ done }) => done)];
  await settledWithin(Promise.all(closing), CLOSE_MS, clock);
}

function mayRunOn({ settings, context }: OnBranch): boolean {
  try {
    return settings(context().cwd).background ?? PI_DEFAULTS.background;
  } catch {
    return PI_DEFAULTS.background;
  }
}
