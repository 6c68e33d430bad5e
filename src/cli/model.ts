import type { Settings } from "../config/index.ts";
import { RlmError } from "../index.ts";
import { type Models, openModels } from "../model/index.ts";

/** The models that sub-calls will ask. */
export function modelsOf({ model, base_url, api_key_env }: Settings): Models {
  return openModels({ model, baseUrl: base_url, apiKeyEnv: api_key_env, env: process.env });
}

/** Sub-calls of unknown price would count as free. @throws RlmError `invalid_argument`, `no_model_configured` */
export function checkPrice(settings: Settings): void {
  const { model, max_cost_usd } = settings;
  if (model === undefined || max_cost_usd === undefined || modelsOf(settings).price(model) !== null) return;
  throw new RlmError("invalid_argument", `the price of ${model} is not known, so max_cost_usd cannot be kept`, {
    suggestion: 'Limit by --max-tokens; --max-cost-usd "" takes back a limit that a file sets.',
  });
}
