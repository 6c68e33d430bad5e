import type { Api, Model as PiModel } from "belay-pi-ai";
import type { Price } from "../port.ts";

/** The price in pi-ai's description of a model. */
export function priceIn({ cost: { input, output, tiers = [] } }: Pick<PiModel<Api>, "cost">): Price {
  if (tiers.length === 0) return { input, output };
  const above = tiers.map((tier) => ({ above: tier.inputTokensAbove, input: tier.input, output: tier.output }));
  return { input, output, tiers: above };
}
