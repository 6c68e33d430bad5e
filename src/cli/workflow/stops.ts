import { amount, compact, dollars } from "../../platform/figures.ts";
import { WORK_ON } from "../../platform/signals.ts";
import type { InSession } from "../session/opening.ts";
import type { CliSession } from "../session/session.ts";

/**
 * Tells people who stop a run how many agents are ended, and what starting them again may cost.
 * A terminal that closes ends Belay alone: agents work on, and the next process takes over their
 * answers.
 */
export function tellOfStops({ progress, kept }: CliSession, { stop, terminal, flags }: InSession): Disposable {
  const tell = () => {
    const calls = progress.newest();
    if (!calls || calls.running === 0 || flags.quiet || stop.suspend.reason === WORK_ON) return;
    progress.clear();
    const { running, held_cost_usd: usd, held_tokens: tokens } = calls;
    const cost = usd > 0 ? `up to ${dollars(usd)}` : `up to ${compact(tokens)} tokens`;
    const again = kept ? `; starting ${running === 1 ? "it" : "them"} again may cost ${cost}` : "";
    terminal.stderr.write(`ending ${amount(running, "agent")}${again}. Stop again to leave at once\n`, "yellow");
  };
  stop.suspend.addEventListener("abort", tell, { once: true });
  return { [Symbol.dispose]: () => stop.suspend.removeEventListener("abort", tell) };
}
