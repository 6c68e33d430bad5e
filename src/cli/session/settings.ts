import { join } from "node:path";
import { type ConfigPlaces, given, readConfig, type Settings } from "../../config/index.ts";
import { homeFolder } from "../../home.ts";
import type { SessionOptions } from "../../index.ts";
import { RlmError } from "../../index.ts";
import { type Models, openModels } from "../../model/index.ts";
import type { SessionFlags } from "../flags/session-flags.ts";
import { commandLine, UsageError } from "../flags/usage.ts";

/**
 * The settings that hold for this command: flags, what its session was begun with, variables and the files of the
 * project and of the user.
 *
 * @throws RlmError `invalid_config`
 * @throws UsageError for --base-url if nothing names a model
 */
export function readSettings({ command, settings, typed }: SettingsAsked, kept: Settings = {}): Settings {
  const all = readConfig({ ...kept, ...settings }, configPlaces());
  if (settings.base_url === undefined || all.model !== undefined) return all;
  const line = commandLine([command, "--model", "local/NAME", ...typed]);
  throw new UsageError("--base-url needs --model: the server's name for it, after any provider's name", line);
}

type SettingsAsked = Pick<SessionFlags, "command" | "settings" | "typed">;

/** Where this process's settings come from. */
export function configPlaces(): ConfigPlaces {
  const { env } = process;
  return { cwd: process.cwd(), env, userFile: join(homeFolder(env), "config.json") };
}

/** Settings as the session takes them. */
export function sessionOptions(settings: Settings): SessionOptions {
  const { model, base_url, api_key_env, concurrency, memory_mb, max_turns, max_depth } = settings;
  const { max_execution_ms, max_output_bytes, max_find_results, max_result_bytes } = settings;
  const { max_tokens, max_sub_calls, max_time_ms, max_cost_usd } = settings;
  return {
    limits: given({ max_execution_ms, max_output_bytes, max_find_results, max_result_bytes }),
    budget: given({ max_tokens, max_sub_calls, max_time_ms, max_cost_usd }),
    subAgents: given({ maxTurns: max_turns }),
    ...given({
      model,
      baseUrl: base_url,
      apiKeyEnv: api_key_env,
      concurrency,
      memoryMb: memory_mb,
      maxDepth: max_depth,
    }),
  };
}

/** The models that sub-calls will ask. */
export function modelsOf({ model, base_url, api_key_env }: Settings): Models {
  return openModels({ model, baseUrl: base_url, apiKeyEnv: api_key_env, env: process.env });
}

/** Sub-calls of unknown price would count as free. @throws RlmError `invalid_argument`, `no_model_configured` */
export function checkPrice(settings: Settings): void {
  const { model, max_cost_usd } = settings;
  if (model === undefined || max_cost_usd === undefined || modelsOf(settings).price(model) !== null) return;
  throw unknownPrice(
    model,
    "max_cost_usd",
    'Limit by --max-tokens; --max-cost-usd "" takes back a limit that a file sets.',
  );
}

/** The refusal of a limit of dollars. @param limit as it was typed */
export function unknownPrice(model: string, limit: string, suggestion: string): RlmError {
  return new RlmError("invalid_argument", `the price of ${model} is not known, so ${limit} cannot be kept`, {
    suggestion,
  });
}
