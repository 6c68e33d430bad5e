import type { Models } from "../../model/index.ts";
import type { RunLimits } from "../../store/index.ts";
import { RUN_LIMITS } from "../flags/runs.ts";
import { unknownPrice } from "../session/settings.ts";

/**
 * Refuses a limit of dollars for a run whose model has no price: each of its jobs would fail by it.
 * @param model of the run; null: its jobs ask none
 * @param models one of which may know the price
 * @throws RlmError `invalid_argument` naming the flag
 */
export function checkRunPrice(
  { nanodollars }: RunLimits,
  model: string | null,
  models: readonly Pick<Models, "price">[],
): void {
  if (nanodollars === null || model === null || models.some(({ price }) => price(model) !== null)) return;
  const { nanodollars: cost, tokens, sub_calls } = RUN_LIMITS;
  throw unknownPrice(model, `--${cost.name}`, `Limit by --${tokens.name} or --${sub_calls.name}.`);
}
