import type { ProviderWait } from "../../index.ts";
import { age, amount } from "../../platform/figures.ts";

/** Calls that wait for providers, in short: `3,000 calls at openai since 4 min`. @param waits one at least */
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

/** A line for each batch: `3,000 calls wait for openai (batch_68a1, since 21 min; most take less than an hour, 24 h at the most)`. */
export function waitLines(waits: readonly ProviderWait[], now: number): string[] {
  return waits.map((wait) => {
    const { provider, calls, since } = wait;
    return `${amount(calls, "call waits", "calls wait")} for ${provider} (${batchName(wait)}, ${sinceText(since, now)}; ${endText(wait)})`;
  });
}

/** `since 21 min`. */
const sinceText = (since: number, now: number) => `since ${age(Math.max(1000, now - since))}`;

/** `about 12:50, as the last 3 took`: by the median of earlier batches of the account, if there are any. */
function endText({ since, earlier }: ProviderWait): string {
  const median = [...earlier].sort((a, b) => a - b)[Math.floor((earlier.length - 1) / 2)];
  if (median === undefined) return "most take less than an hour, 24 h at the most";
  return `about ${clockText(since + median)}, as the last ${earlier.length === 1 ? "one" : earlier.length} took`;
}
