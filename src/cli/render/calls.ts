import type { CallDescription, CallProgress } from "../../index.ts";
import { addUsage, NO_USAGE } from "../../models/index.ts";
import { amount, bar, compact, duration, elapsed, priced, roughly } from "../../platform/figures.ts";
import { type Column, table } from "./table.ts";
import type { Output } from "./terminal.ts";

/** The sub-calls of a cell or query. */
export interface CallTotals {
  /** Calls that were done. */
  readonly done: number;
  /** Calls that were in flight and are given up. */
  readonly unfinished: number;
  readonly tokens: number;
  readonly cost_usd: number;
  /** Since the cell began, ms. */
  readonly elapsed: number;
}

/** `███████░░░ calls 12 of 17, ~10 s left · 33 more allowed · 48k tokens (~9k held) · $0.021 · 14 s`: of those that the cell has made so far. */
export function callLine(progress: CallProgress, ms: number): string {
  const { done, running, left, tokens, held_tokens, cost_usd } = progress;
  const held = held_tokens > 0 ? ` (~${compact(held_tokens)} held)` : "";
  const made = done + running;
  const isForeseeable = done > 0 && running > 0 && ms >= LEAST_MS;
  const rest = isForeseeable ? `, ~${roughly((ms * running) / done)} left` : "";
  const counts = [`${bar(done, made)} calls ${done} of ${made}${rest}`, `${left} more allowed`];
  return [...counts, `${compact(tokens)} tokens${held}`, ...priced(cost_usd), elapsed(ms)].join(" · ");
}

/** A shorter time says little of the time that is left. */
const LEAST_MS = 2000;

/** `12 sub-calls · 48k tokens · $0.021 · 14 s` */
export function takenLine({ done, unfinished, tokens, cost_usd, elapsed: ms }: CallTotals): string {
  const ended = unfinished > 0 ? [`${unfinished} given up`] : [];
  const parts = [amount(done, "sub-call"), ...ended, `${compact(tokens)} tokens`, ...priced(cost_usd), elapsed(ms)];
  return parts.join(" · ");
}

/** `9.6k from the provider's cache ($0.026 saved)`, or nothing if no call has tokens from there. */
export function fromCache(calls: readonly Pick<CallDescription, "usage">[]): string[] {
  const { cache_read, saved_usd = 0 } = calls.reduce((sum, { usage }) => addUsage(sum, usage), NO_USAGE);
  const saved = priced(saved_usd).map((usd) => ` (${usd} saved)`);
  return cache_read === 0 ? [] : [`${compact(cache_read)} from the provider's cache${saved.join("")}`];
}

/** A line for each call, with the first words of its prompt. */
export function callLines(calls: readonly CallDescription[], margin: string, output: Output): string[] {
  const digits = String(calls.length).length;
  const rows = calls.map((call) => [
    margin + String(call.number).padStart(digits),
    statusOf(call),
    call.model || (call.effects ?? "-"),
    call.time_ms === null ? "-" : duration(call.time_ms),
    [`${compact(call.tokens)} tokens`, ...priced(call.cost_usd)].join(" "),
    [...sentAgain(call), ...takenFrom(call), firstWords(call.prompt ?? calledAs(call))].join(" "),
  ]);
  return table(rows, COLUMNS, output);
}

const COLUMNS: readonly Column[] = ["left", "left", "left 3", "right 4", "right 1", "left"];

function statusOf({ refused, cached, reused, error_code, status }: CallDescription): string {
  if (refused) return "refused";
  if (cached) return reused ? "reused" : "cached";
  return error_code ?? status;
}

const takenFrom = ({ reused }: CallDescription) => (reused ? [`(from ${reused.from})`] : []);

/** A function of the program with its argument. */
const calledAs = ({ name, args, effects }: CallDescription) => (effects ? `${name}(${JSON.stringify(args[0])})` : name);

function sentAgain({ attempts, resent }: CallDescription): string[] {
  const sent = 1 + attempts + resent;
  return sent > 1 ? [`(sent ${sent}x)`] : [];
}

const WORDS_UNITS = 60;

/** The beginning of a text, in a line. */
export function firstWords(prompt: string): string {
  const line = prompt
    .slice(0, WORDS_UNITS * 4)
    .trim()
    .replaceAll(/\s+/g, " ");
  return line.length > WORDS_UNITS ? `${line.slice(0, WORDS_UNITS)}…` : line;
}
