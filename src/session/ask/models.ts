import type { Json } from "../../../runtime/index.ts";
import { isRecord } from "../../platform/json.ts";
import type { Signer } from "../../platform/signed-settings.ts";
import type { HostedOptions } from "../api.ts";
import type { AskSettings } from "./records.ts";

/** The models of an ask: those of its turns and of its plain sub-calls, `provider/id`. */
type NamedModels = Pick<AskSettings, "model" | "sub_model">;

export type AskModels = ReturnType<typeof openAskModels>;

/** All asks of a store are signed alike, so that forks keep the signature. */
const SUBJECT = "models of an ask";

/**
 * Says which models an ask may go on with. Its records only name them: a store may come from somebody else, and the opener's
 * keys would pay for what it names.
 *
 * @param hasAll the host gives models by a registry of its own, such as Pi's
 */
export function openAskModels(
  { model: own, baseUrl }: Pick<HostedOptions, "model" | "baseUrl">,
  { hasAll, signer }: { readonly hasAll: boolean; readonly signer: Pick<Signer, "sign" | "doubt"> | null },
) {
  const begunHere = new Set<string>();
  return {
    /** The names that are kept with the ask, signed with the user's key if there is one. */
    sign({ model, sub_model }: NamedModels): Json {
      begunHere.add(model).add(sub_model);
      return signer?.sign({ model, sub_model }, SUBJECT) ?? null;
    },
    /** The first that the opener does not have and that this user has not signed here; null: there is none. */
    foreign({ model, sub_model }: NamedModels, signed: Json): string | null {
      // At a server that the opener names, every name is a model.
      if (hasAll || baseUrl !== undefined) return null;
      const others = [model, sub_model].filter((name) => name !== own && !begunHere.has(name));
      if (others.length === 0) return null;
      const isOf = isRecord(signed) && signed.model === model && signed.sub_model === sub_model;
      const isSigned = signer?.doubt(signed, SUBJECT) === null && isOf;
      return isSigned ? null : (others[0] ?? null);
    },
  };
}
