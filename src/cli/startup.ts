import { existsSync } from "node:fs";
import module from "node:module";
import { join } from "node:path";
import { homeFolder } from "../home.ts";

/**
 * Keeps compiled modules in the store folder, where there is one: the next command starts in half the time. Node's own
 * place for them is in the folder of temporary files, where another user might put code in their stead.
 */
export function keepCompiledModules(env: NodeJS.ProcessEnv): void {
  const folder = homeFolder(env);
  // It reports a folder that cannot be written by its answer.
  if (existsSync(folder)) module.enableCompileCache?.(join(folder, "compiled"));
}

/** Keeps the SDKs of providers from printing parts of answers on stderr. `OPENAI_LOG=debug` and the like still count. */
export function silenceSdks(env: NodeJS.ProcessEnv): void {
  env.OPENAI_LOG ??= "off";
  env.ANTHROPIC_LOG ??= "off";
}
