import type { Amount } from "../store/index.ts";

const NAMES = { nanodollars: "cost_usd", tokens: "tokens", sub_calls: "sub_calls" } as const;
const KINDS = ["nanodollars", "tokens", "sub_calls"] as const;

/** `budget: sub_calls`: why a run is paused whose limit is spent. */
export function budgetReason(limit: keyof Amount): string {
  return `budget: ${NAMES[limit]}`;
}

/** The limit that is spent of a run that is paused for this reason; null: there is another reason. */
export function limitIn(why: string | null): keyof Amount | null {
  return KINDS.find((limit) => budgetReason(limit) === why) ?? null;
}
