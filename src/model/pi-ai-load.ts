import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

export type PiAi = typeof import("@mariozechner/pi-ai");
type PiOAuth = typeof import("@mariozechner/pi-ai/oauth");

const require = createRequire(import.meta.url);
let piAi: PiAi | undefined;

/**
 * pi-ai with its list of models, loaded at the first call and blocking: a model is resolved inside synchronous code, and
 * commands that call none must not wait for it. The package has an entry for `import` alone, so it is found as an import
 * and required by its file: both give the same module.
 */
export function loadPiAi(): PiAi {
  const loaded: PiAi = piAi ?? requireImport("@mariozechner/pi-ai");
  piAi = loaded;
  return loaded;
}

/** What pi-ai knows of logins: needed for models behind one alone. */
export function loadPiOAuth(): PiOAuth {
  return requireImport("@mariozechner/pi-ai/oauth");
}

function requireImport(specifier: string) {
  return require(fileURLToPath(import.meta.resolve(specifier)));
}
