import type { CallNotice, CallProgress, PhaseProgress } from "../../index.ts";
import { compact, dollars, duration, elapsed, priced, roughly } from "../../platform/figures.ts";

/** A shorter time says little of the time that is left, ms. */
const LEAST_MS = 2000;
const PHASE_UNITS = 24;

/**
 * `3 running, 2 waiting, 7 done, 1 failed · ~2 min left · $0.40 (~$1.50 held) · 1 min · Verify 2/6 ·
 * Find 6/6`: of the agents that the run has started so far. Phases follow as far as they fit, the
 * newest first.
 */
export function workflowLine(progress: CallProgress, ms: number, columns: number): string {
  const { tokens, held_tokens, cost_usd, held_cost_usd, phases = [] } = progress;
  const sum = sumOf(phases);
  const waiting = sum.made - sum.done - sum.running;
  const counts = [
    `${sum.running} running`,
    ...(waiting > 0 ? [`${waiting} waiting`] : []),
    `${sum.done - sum.failed} done`,
    ...(sum.failed > 0 ? [`${sum.failed} failed`] : []),
  ];
  const left = sum.made - sum.done;
  const isForeseeable = progress.done > 0 && left > 0 && ms >= LEAST_MS;
  const spent = [`${compact(tokens)} tokens`, ...priced(cost_usd)].join(" ");
  const parts = [
    counts.join(", "),
    ...(isForeseeable ? [`~${roughly((ms * left) / progress.done)} left`] : []),
    `${spent}${heldText(held_tokens, held_cost_usd)}`,
    elapsed(ms),
  ];
  const line = parts.join(" · ");
  const shown = phases.length > 1 || phases[0]?.phase ? phases : [];
  return fitting(line, shown.toReversed(), columns - 1);
}

/** The most that requests in flight may take. */
function heldText(tokens: number, usd: number): string {
  if (usd > 0) return ` (~${dollars(usd)} held)`;
  return tokens > 0 ? ` (~${compact(tokens)} held)` : "";
}

function fitting(line: string, phases: readonly PhaseProgress[], columns: number): string {
  let fitted = line;
  for (const { phase, done, made, failed } of phases) {
    const name = phase === null ? "other" : phase.slice(0, PHASE_UNITS);
    const longer = `${fitted} · ${name} ${done}/${made}${failed > 0 ? ` (${failed} failed)` : ""}`;
    if (longer.length > columns) break;
    fitted = longer;
  }
  return fitted;
}

function sumOf(phases: readonly PhaseProgress[]): Omit<PhaseProgress, "phase"> {
  const sum = { made: 0, running: 0, done: 0, failed: 0 };
  for (const { made, running, done, failed } of phases) {
    sum.made += made;
    sum.running += running;
    sum.done += done;
    sum.failed += failed;
  }
  return sum;
}

/** `Find: a.ts  agent:claude/opus  ok  12k tokens $0.10  30 s`, of an agent that has ended. */
export function answerLine({ label, phase, model, error_code, cached, tokens, cost_usd, ms }: CallNotice): string {
  const name = [phase, label ?? "an agent"].filter((part) => part !== null).join(": ");
  const how = error_code ?? (cached ? "taken over" : "ok");
  const took = [`${compact(tokens)} tokens`, ...priced(cost_usd)].join(" ");
  return [name, model, how, took, ...(ms === null ? [] : [duration(ms)])].filter((part) => part !== "").join("  ");
}
