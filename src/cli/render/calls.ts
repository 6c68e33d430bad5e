import type { CallDescription, CallProgress, ProviderWait, SessionSummary } from "../../index.ts";
import { addUsage, NO_USAGE } from "../../models/index.ts";
import { age, amount, bar, compact, duration, elapsed, priced, roughly } from "../../platform/figures.ts";
import { inLine } from "../../platform/visible.ts";
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

/**
 * `███████░░░ calls 12 of 17, ~10 s left · 33 more allowed · 48k tokens (~9k held) · $0.021 · 14
 * s`: of those that the cell has made so far.
 */
export function callLine(progress: CallProgress, ms: number): string {
  const { done, running, waiting, left, tokens, held_tokens, cost_usd } = progress;
  const held = held_tokens > 0 ? ` (~${compact(held_tokens)} held)` : "";
  const open = running + waiting;
  const isForeseeable = done > 0 && open > 0 && ms >= LEAST_MS;
  const rest = isForeseeable ? `, ~${roughly((ms * open) / done)} left` : "";
  const made = done + open;
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

/**
 * `9.6k from the provider's cache ($0.026 saved)` and `10 estimated, since none were told`; nothing if no call has such
 * tokens.
 */
export function tokenRemarks(calls: readonly Pick<CallDescription, "usage">[]): string[] {
  const usage = calls.reduce((sum, call) => addUsage(sum, call.usage), NO_USAGE);
  const { cache_read, saved_usd = 0 } = usage;
  const saved = priced(saved_usd).map((usd) => ` (${usd} saved)`);
  const cached = cache_read === 0 ? [] : [`${compact(cache_read)} from the provider's cache${saved.join("")}`];
  return [...cached, ...estimatedTokens(usage)];
}

/** `10 estimated, since none were told`, and dollars in the same way; nothing if all were told. */
export function estimatedTokens({ estimated = 0, estimated_usd = 0 }: CallDescription["usage"]): string[] {
  const tokens = estimated === 0 ? [] : [`${compact(estimated)} estimated, since none were told`];
  return [...tokens, ...priced(estimated_usd).map((usd) => `${usd} assumed, since none was told`)];
}

/**
 * A line for each call, with the first words of its prompt.
 *
 * @param isRunning a process runs the exec
 */
export function callLines(
  calls: readonly CallDescription[],
  { margin, isRunning }: { readonly margin: string; readonly isRunning: boolean },
  output: Output,
): string[] {
  const digits = String(calls.length).length;
  const rows = calls.map((call) => [
    margin + String(call.number).padStart(digits),
    statusOf(call, isRunning),
    call.model || (call.effects ?? "-"),
    call.time_ms === null ? "-" : duration(call.time_ms),
    [tokensOf(call), ...pricedOf(call)].join(" "),
    [...sentAgain(call), ...takenFrom(call), ...mendedIn(call), wordsOf(call), ...changesOf(call)].join(" "),
  ]);
  return table(rows, COLUMNS, output);
}

const COLUMNS: readonly Column[] = ["left", "left", "left 3", "right 4", "right 1", "left"];

/** An agent that has answered without tokens has not told them. */
function tokensOf({ agent, cached, status, tokens, usage }: CallDescription): string {
  const isUntold = agent !== null && status === "ok" && !cached && tokens === 0;
  return isUntold ? "tokens not told" : tokensText(tokens, usage);
}

/** `~$0.50`: nobody told all of it. An agent that has answered without a price has not told it. */
function pricedOf({ agent, cached, status, cost_usd, usage }: CallDescription): string[] {
  if (agent !== null && status === "ok" && !cached && cost_usd === 0) return ["price not told"];
  return priced(cost_usd).map((usd) => ((usage.estimated_usd ?? 0) > 0 ? `~${usd}` : usd));
}

/** `~1.2k tokens`: some of them are estimated. */
export function tokensText(tokens: number, { estimated = 0 }: CallDescription["usage"]): string {
  return `${estimated > 0 ? "~" : ""}${compact(tokens)} tokens`;
}

function statusOf(call: CallDescription, isRunning: boolean): string {
  const { by_hand, refused, cached, reused, error_code, status, agent, started } = call;
  // An agent works on while no process runs its call. Of a model nothing tells whether it has been asked.
  if (started) return isRunning ? "running" : "started";
  if (status === "pending") return agent === null ? "unanswered" : "waiting";
  if (by_hand) return "by hand";
  if (refused) return "refused";
  if (cached) return reused ? "reused" : "cached";
  return error_code ?? status;
}

const mendedIn = ({ mended }: CallDescription) => (mended.length > 0 ? ["(mended)"] : []);

const takenFrom = ({ reused }: CallDescription) => (reused ? [`(from ${reused.from})`] : []);

/** `Verify: a.ts` of a call of a workflow; else the first words of its prompt. */
function wordsOf(call: CallDescription): string {
  const { label, phase, prompt } = call;
  const words = label ?? firstWords(prompt ?? calledAs(call));
  return phase === null ? words : `${phase}: ${words}`;
}

const changesOf = ({ worktrees }: CallDescription) => worktrees.map((tree) => `(changes in ${tree})`);

/** Calls of a workflow in the order in which their phases began; the rest as they were made. */
export function byPhase(calls: readonly CallDescription[]): readonly CallDescription[] {
  if (calls.every(({ phase }) => phase === null)) return calls;
  return [...Map.groupBy(calls, ({ phase }) => phase).values()].flat();
}

/** A function of the program with its argument. */
const calledAs = ({ name, args, effects }: CallDescription) => (effects ? `${name}(${JSON.stringify(args[0])})` : name);

function sentAgain({ attempts, resent, model }: CallDescription): string[] {
  // An agent works on while Belay is away: nothing was sent to it again.
  if (model.startsWith("agent:")) return resent > 0 ? ["(resumed)"] : [];
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

/** `in 20 min`, or `now`. The message of a limit has the time on the clock. */
export const untilText = (at: number, now: number) => (at > now ? `in ${age(at - now)}` : "now");

/** `waits: the agent claude has reached a limit, and may be started again at 15:04; it may continue in 20 min` */
export function waitsForText({ message, retry_at }: NonNullable<SessionSummary["waits_for"]>, now: number): string {
  const until = retry_at === undefined ? "" : `; it may continue ${untilText(retry_at, now)}`;
  return inLine(`waits: ${message}${until}`);
}

/**
 * Calls that wait for providers, in short: `3,000 calls at openai since 4 min`.
 *
 * @param waits one at least
 */
export function waitsInShort(waits: readonly ProviderWait[], now: number): string {
  const calls = waits.reduce((sum, wait) => sum + wait.calls, 0);
  const providers = [...new Set(waits.map(({ provider }) => provider))].join(", ");
  const since = Math.min(...waits.map((wait) => wait.since));
  return `${amount(calls, "call")} at ${providers} ${sinceText(since, now)}`;
}

/** `waits for openai batch_68a1 since 12:30`. @param waits such as `3 calls wait` */
export function waitText(wait: ProviderWait, waits = "waits"): string {
  return `${waits} for ${wait.provider} ${wait.batch ?? `(${batchName(wait)})`} since ${clockText(wait.since)}`;
}

/** The provider's name of a batch, or why it has none. */
function batchName({ batch, state }: ProviderWait): string {
  return batch ?? (state === "doubt" ? "in doubt" : "not sent yet");
}

const clockText = (at: number) => new Date(at).toTimeString().slice(0, 5);

/**
 * A line for each batch: `3,000 calls wait for openai (batch_68a1, since 21 min; most take less
 * than an hour, 24 h at the most)`.
 */
export function waitLines(waits: readonly ProviderWait[], now: number): string[] {
  return waits.map((wait) => {
    const { provider, calls, since } = wait;
    return `${amount(calls, "call waits", "calls wait")} for ${provider} (${batchName(wait)}, ${sinceText(since, now)}; ${endText(wait)})`;
  });
}

/** `since 21 min`. */
const sinceText = (since: number, now: number) => `since ${age(Math.max(1000, now - since))}`;

/**
 * `about 12:50, as the last 3 took`: by the median of earlier batches of the account, if there are
 * any.
 */
function endText({ since, earlier }: ProviderWait): string {
  const median = [...earlier].sort((a, b) => a - b)[Math.floor((earlier.length - 1) / 2)];
  if (median === undefined) return "most take less than an hour, 24 h at the most";
  return `about ${clockText(since + median)}, as the last ${earlier.length === 1 ? "one" : earlier.length} took`;
}
