import type { CallProgress } from "../index.ts";
import { amount } from "./numbers.ts";

/** What the sub-calls of a cell or query took. */
export interface CallsTaken {
  readonly done: number;
  /** Given up: they were in flight when it ended. */
  readonly unfinished: number;
  readonly tokens: number;
  readonly cost_usd: number;
  /** ms since the cell began. */
  readonly elapsed: number;
}

/** `calls 12 done · 5 running · 33 left · 48k tokens (~9k held) · $0.021 · 14 s` */
export function callLine(progress: CallProgress, elapsed: number): string {
  const { done, running, left, tokens, held_tokens, cost_usd } = progress;
  const held = held_tokens > 0 ? ` (~${compact(held_tokens)} held)` : "";
  const parts = [`calls ${done} done`, `${running} running`, `${left} left`, `${compact(tokens)} tokens${held}`];
  return [...parts, ...priced(cost_usd), duration(elapsed)].join(" · ");
}

/** `12 sub-calls · 48k tokens · $0.021 · 14 s` */
export function takenLine({ done, unfinished, tokens, cost_usd, elapsed }: CallsTaken): string {
  const ended = unfinished > 0 ? [`${unfinished} given up`] : [];
  return [amount(done, "sub-call"), ...ended, `${compact(tokens)} tokens`, ...priced(cost_usd), duration(elapsed)].join(
    " · ",
  );
}

/** `48k` of 48,123; as many digits as one can take in at a glance. */
export function compact(count: number): string {
  if (count < 1000) return String(count);
  if (count < 9950) return `${(count / 1000).toFixed(1)}k`;
  return count < 999_500 ? `${Math.round(count / 1000)}k` : `${(count / 1e6).toFixed(1)}M`;
}

/** `$0.021`: USD to two digits or more. */
export function dollars(usd: number): string {
  return `$${usd.toFixed(usd < 0.01 ? 4 : usd < 1 ? 3 : 2)}`;
}

/** Where no price is known, or the model is free, there is nothing to say. */
const priced = (usd: number) => (usd > 0 ? [dollars(usd)] : []);

function duration(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
}
