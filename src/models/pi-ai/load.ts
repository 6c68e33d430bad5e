import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { entryUrl } from "../../entries.ts";

type Copy = typeof import("./copy-entry.ts");

/** The functions of pi-ai that are used. A host may lend its own copy of what sends. */
export type PiAi = Pick<
  Copy,
  "streamSimple" | "getModels" | "getProviders" | "findEnvKeys" | "getBuiltinModelDataGeneratedAt"
>;

const require = createRequire(import.meta.url);

/**
 * Our copy of pi-ai with its list of models, loaded at the first call and blocking: a model is
 * resolved inside synchronous code, and commands that call none must not wait for it. A build has
 * it as a file of its own, providers' SDKs included, each in a chunk that the first request to its
 * protocol loads.
 */
export function loadPiAi(): Copy {
  return require(fileURLToPath(entryUrl("models/pi-ai/copy-entry")));
}
