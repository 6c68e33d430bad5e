import type { Api, Model as PiModel } from "@mariozechner/pi-ai";
import { RlmError } from "../../../runtime/index.ts";
import {
  type Authorization,
  agentDirOf,
  type Model,
  type Models,
  nearestNames,
  piAiModel,
  priceIn,
  refusalOf,
} from "../../models/index.ts";
import { fromHost, type PiRegistry } from "../host.ts";

/** The registry, and the model that Pi itself uses now. */
type PiModels = { readonly modelRegistry: PiRegistry; readonly model: PiModel<Api> | undefined };

/**
 * Models of Pi: its registry, its keys and logins, its copy of pi-ai.
 *
 * @param context is read each time a model is asked for, since the user may log in meanwhile
 * @param subModel setting `sub_model`, `provider/id`
 */
export function openPiModels(context: () => PiModels, subModel: string | undefined): Models {
  function modelOf(name: string | null): PiModel<Api> {
    const wanted = name ?? subModel;
    const { modelRegistry, model } = context();
    if (wanted !== undefined) return find(modelRegistry, wanted);
    if (model) return model;
    throw new RlmError("no_model_configured", "Pi has no model, and sub_model is not set", {
      suggestion: "Choose one with /model, or set sub_model in belay.json.",
    });
  }
  return {
    get fallback() {
      const { model } = context();
      return subModel ?? (model ? `${model.provider}/${model.id}` : null);
    },
    price: (name) => priceOf(modelOf(name)),
    refusal(name) {
      const { model } = context();
      const isOf = (provider: string | undefined) => provider !== undefined && name.startsWith(`${provider}/`);
      if (isOf(model?.provider) || isOf(subModel?.split("/")[0])) return null;
      return refusalOf(name, agentDirOf(process.env), process.env);
    },
    resolve(name) {
      const model = modelOf(name);
      const from = context().modelRegistry;
      // The host's function sends (semantics 36), of an older or newer copy than ours: what is used
      // of it is the same in all.
      const stream = from.streamSimple ?? fromHost("pi-ai", "streamSimple");
      return piAiModel({
        model,
        price: priceOf(model),
        window: model.contextWindow > 0 ? model.contextWindow : null,
        authorize: () => authorization(from, model),
        load: () => ({ streamSimple: (...asked) => Reflect.apply(stream, from, asked) }),
      });
    },
  };
}

/** Pi gives models without a price the price 0. */
function priceOf({ cost }: PiModel<Api>): Model["price"] {
  return cost.input === 0 && cost.output === 0 ? null : priceIn({ cost });
}

function find(registry: PiRegistry, name: string): PiModel<Api> {
  const slash = name.indexOf("/");
  const found = slash < 0 ? undefined : registry.find(name.slice(0, slash), name.slice(slash + 1));
  if (found) return found;
  const near = nearestNames(
    name,
    registry.getAll().map(({ provider, id }) => `${provider}/${id}`),
  );
  throw new RlmError("no_model_configured", `Pi has no model ${name}`, {
    suggestion: near.length > 0 ? `Did you mean ${near.join(", ")}?` : "Names are provider/id, as /model lists them.",
  });
}

async function authorization(registry: PiRegistry, model: PiModel<Api>): Promise<Authorization> {
  const given = await registry.getApiKeyAndHeaders(model);
  if (!given.ok) {
    throw new RlmError("no_model_configured", `Pi has no key for ${model.provider}: ${given.error}`, {
      suggestion: "Run /login, or set the provider's API key.",
    });
  }
  const headers = Object.entries(given.headers ?? {}).flatMap(([name, value]): [string, string][] =>
    value === null ? [] : [[name, value]],
  );
  return { key: given.apiKey ?? null, headers: Object.fromEntries(headers), expires: Number.POSITIVE_INFINITY };
}
