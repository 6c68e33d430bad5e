import { resolve } from "node:path";
import type { Json } from "../../../runtime/index.ts";
import { canonical } from "../../context/index.ts";
import { isRecord } from "../../platform/json.ts";
import { isWithin } from "../../platform/paths.ts";
import type { Signer } from "../../settings/signed-settings.ts";
import type { HostedOptions } from "../option-types.ts";

/**
 * The folders that may be read in a session: those that its caller names, for the session or with a load. A store may come
 * from another user, so what its journal says was read grants nothing.
 */
export interface Granted {
  /** The folders that the caller named for the whole session. */
  readonly roots: readonly string[];
  /** Allows the folders that a load of this process names. */
  allow(folders: readonly string[]): void;
  /** Returns the folders that lie in those that the journal names and in those that the caller names. */
  among(recorded: readonly string[]): string[];
}

/** Each is looked up in the file system, so their number is bounded. No real session names as many. */
const MOST = 1_000;

export function openGranted(roots: readonly string[], cwd: string): Granted {
  const allowed = new Set(roots);
  return {
    roots,
    allow(folders) {
      for (const folder of folders) allowed.add(folder);
    },
    among(recorded) {
      if (recorded.length === 0) return [];
      const own = [...allowed].map((folder) => canonical(resolve(cwd, folder)));
      const common = recorded.slice(0, MOST).flatMap((folder) => {
        const path = canonical(resolve(cwd, folder));
        return own.some((root) => isWithin(root, path)) ? [path] : own.filter((root) => isWithin(path, root));
      });
      return [...new Set(common)];
    },
  };
}

/** The models of an ask: those of its turns and of its plain sub-calls, `provider/id`. */
interface NamedModels {
  readonly model: string;
  readonly sub_model: string;
}

/** Decides which models an ask may continue. */
export interface AskModels {
  /** Returns the names to keep with the ask, signed with the user's key if there is one. */
  sign(models: NamedModels): Json;
  /** Returns the first model that the opener does not have and that this user has not signed here; `null` if there is none. */
  foreign(models: NamedModels, signed: Json): string | null;
}

/** All asks of a store are signed alike, so that forks keep the signature. */
const SUBJECT = "models of an ask";

/**
 * Says which models an ask may continue. Its records only name them: a store may come from another user, and the opener's
 * keys would pay for what it names.
 *
 * @param hasAll the host gives models by a registry of its own, such as Pi's
 */
export function openAskModels(
  { model: own, baseUrl }: Pick<HostedOptions, "model" | "baseUrl">,
  { hasAll, signer }: { readonly hasAll: boolean; readonly signer: Pick<Signer, "sign" | "doubt"> | null },
): AskModels {
  const begunHere = new Set<string>();
  return {
    sign({ model, sub_model }) {
      begunHere.add(model).add(sub_model);
      return signer?.sign({ model, sub_model }, SUBJECT) ?? null;
    },
    foreign({ model, sub_model }, signed) {
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
