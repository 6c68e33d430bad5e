import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

/** What is used of pi-ai. */
export type PiAi = Pick<typeof import("belay-pi-ai"), "streamSimple" | "getModels" | "getProviders" | "findEnvKeys">;
type PiOAuth = typeof import("belay-pi-ai/oauth");

const require = createRequire(import.meta.url);
let piAi: PiAi | undefined;

/**
 * pi-ai with its list of models, loaded at the first call and blocking. A model is resolved inside synchronous code, and
 * commands that call none must not wait for it. Only the files that hold what is used are loaded, not the package's
 * entry, which also loads typebox's compiler, 0.27 of its 0.34 s. The package is pinned, and
 * tests/src/model/pi-ai/load.test.ts compares with the entry.
 */
export function loadPiAi(): PiAi {
  piAi ??= {
    ...pick(packageFile("stream.js"), "streamSimple"),
    ...pick(packageFile("models.js"), "getModels", "getProviders"),
    ...pick(packageFile("env-api-keys.js"), "findEnvKeys"),
  };
  return piAi;
}

/** What pi-ai knows of logins: needed for models behind one alone. */
export function loadPiOAuth(): PiOAuth {
  return requireImport("belay-pi-ai/oauth");
}

/** What pi-ai knows of providers' messages: loaded apart from what sends, since the host may lend its own. */
export function loadOverflow(): Pick<typeof import("belay-pi-ai"), "isContextOverflow"> {
  return require(fileURLToPath(new URL("utils/overflow.js", import.meta.resolve("belay-pi-ai"))));
}

/** Required by its file: the package has entries for `import` alone, and both give the same module. */
function requireImport(specifier: string) {
  return require(fileURLToPath(import.meta.resolve(specifier)));
}

/** A file of the package that no import can name. */
function packageFile(name: string): PiAi {
  return require(fileURLToPath(new URL(name, import.meta.resolve("belay-pi-ai"))));
}

function pick<Name extends keyof PiAi>(from: PiAi, ...names: readonly Name[]): Pick<PiAi, Name>;
function pick(from: PiAi, ...names: readonly (keyof PiAi)[]) {
  return Object.fromEntries(names.map((name) => [name, from[name]]));
}
