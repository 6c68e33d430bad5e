import { existsSync } from "node:fs";
import { hasEngine, RlmError } from "../../runtime/index.ts";
import { entryUrl } from "../entries.ts";

let isWhole = false;

/**
 * Looks for the files from which threads are started, and for the engine. A program that a bundler has made of several packages does
 * not have them, or not under their addresses. @throws RlmError `invalid_config`
 */
export function refuseBundled(): void {
  isWhole ||= existsSync(entryUrl("machine-thread-entry")) && hasEngine();
  if (isWhole) return;
  throw new RlmError("invalid_config", "the files of belay-rlm are not beside it: the program was bundled with it", {
    suggestion:
      'Leave the package out of the bundle: `external: ["belay-rlm"]` in esbuild and rolldown, `externals` in webpack, `serverExternalPackages: ["belay-rlm"]` in Next.js.',
  });
}
