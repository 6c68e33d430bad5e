import { hasCode } from "../../../runtime/index.ts";
import type { Models } from "../../models/index.ts";
import { readConfig, type Settings } from "../../settings/index.ts";
import { RUN_LIMITS } from "../flags/runs.ts";
import { configPlaces, modelsOf, unknownPrice } from "../session/settings.ts";

/**
 * Refuses a limit of dollars for a run whose model has no price: each of its jobs would fail by it.
 * @param nanodollars null: there is no such limit
 * @param model of the run; null: its jobs ask none
 * @param models one of which may know the price
 * @throws RlmError `invalid_argument` naming the flag
 */
export function checkRunPrice(nanodollars: number | null, model: string | null, models: readonly Priced[]): void {
  if (nanodollars === null || model === null || models.some(({ price }) => price(model) !== null)) return;
  const { nanodollars: cost, tokens, sub_calls } = RUN_LIMITS;
  throw unknownPrice(model, `--${cost.name}`, `Limit by --${tokens.name} or --${sub_calls.name}.`);
}

type Priced = Pick<Models, "price">;

/** The line that works on the run may leave out the server that this host's settings name. */
export function modelsOfHost(): Priced[] {
  const settings = readConfig({}, configPlaces());
  const { base_url: _, ...elsewhere } = settings;
  return [settings, elsewhere].map((known) => ({
    price(name) {
      try {
        return modelsOf(known).price(name);
      } catch (error) {
        // An unknown provider has no price either.
        if (hasCode(error, "no_model_configured")) return null;
        throw error;
      }
    },
  }));
}

/**
 * The price by batch, as a share of the usual one; null: the price is not known, or there is no
 * model or key.
 */
export function batchShare(settings: Settings): number | null {
  try {
    const { price, batchPrice = price } = modelsOf(settings).resolve(null);
    return price && batchPrice && price.input > 0 ? batchPrice.input / price.input : null;
  } catch {
    return null;
  }
}
