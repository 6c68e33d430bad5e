import { amount, compact, elapsed, priced } from "../figures.ts";
import type { CallProgress } from "../index.ts";

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
export function callLine(progress: CallProgress, ms: number): string {
  const { done, running, left, tokens, held_tokens, cost_usd } = progress;
  const held = held_tokens > 0 ? ` (~${compact(held_tokens)} held)` : "";
  const parts = [`calls ${done} done`, `${running} running`, `${left} left`, `${compact(tokens)} tokens${held}`];
  return [...parts, ...priced(cost_usd), elapsed(ms)].join(" · ");
}

/** `12 sub-calls · 48k tokens · $0.021 · 14 s` */
export function takenLine({ done, unfinished, tokens, cost_usd, elapsed: ms }: CallsTaken): string {
  const ended = unfinished > 0 ? [`${unfinished} given up`] : [];
  return [amount(done, "sub-call"), ...ended, `${compact(tokens)} tokens`, ...priced(cost_usd), elapsed(ms)].join(
    " · ",
  );
}
