import { join } from "node:path";
import { systemClock } from "../../../runtime/index.ts";
import type { DocumentOptions } from "../../context/index.ts";
import type { SessionOptions } from "../../index.ts";
import { RlmError } from "../../index.ts";
import { defaultModels, listModels, type ModelFacts, type Models, modelsAt, openModels } from "../../models/index.ts";
import { amount } from "../../platform/figures.ts";
import { homeFolder, indexFolder } from "../../platform/home.ts";
import { withoutUndefined } from "../../platform/json.ts";
import { cancelUnwanted } from "../../provider-batches/index.ts";
import {
  type ConfigPlaces,
  optionsOf,
  readConfig,
  readUserFile,
  refuseVariables,
  type Settings,
} from "../../settings/index.ts";
import type { Store } from "../../store/index.ts";
import type { SessionFlags } from "../flags/session-flags.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import type { Terminal } from "../render/terminal.ts";

/**
 * The settings that hold for this command: flags, what its session was begun with, variables and
 * the files of the project and of the user.
 *
 * @throws RlmError `invalid_config`
 */
export function readSettings({ settings }: Pick<SettingsAsked, "settings">, kept: Settings = {}): Settings {
  return readConfig({ ...kept, ...settings }, configPlaces());
}

/**
 * Settings of which files alone set some.
 *
 * @param keys of those that are used
 * @throws RlmError `invalid_config`, also for a variable of such a name
 */
export function settingsFromFiles(...keys: readonly ("agents" | "agent_models" | "convert")[]): Settings {
  refuseVariables(keys, process.env);
  return readSettings({ settings: {} });
}

/**
 * Adds a model to settings without one: the only one of the server, or the usual one of the only
 * common provider with a key. If there are several, it chooses none. `isChosen` tells whether it
 * chose one.
 *
 * @throws UsageError for the --base-url of a server with several models, RlmError `provider_error`
 * for one without a list
 */
export async function withModel(settings: Settings, { command, settings: flags, typed }: SettingsAsked) {
  const { base_url } = settings;
  if (settings.model !== undefined) return { settings, isChosen: false };
  const served = base_url === undefined ? [] : ((await modelsListed(settings)) ?? []);
  const [only, ...others] = base_url === undefined ? defaultModels(process.env) : served.map(({ id }) => id);
  if (only !== undefined && others.length === 0) return { settings: { ...settings, model: only }, isChosen: true };
  if (flags.base_url === undefined || base_url === undefined) return { settings, isChosen: false };
  if (only === undefined) throw noList(base_url);
  const names = [only, ...others].slice(0, 10).join(", ");
  const problem = `--base-url needs --model: the server has ${others.length + 1} models, such as ${names}`;
  throw new UsageError(problem, commandLine([command, "--model", only, ...typed]));
}

/**
 * The models of the server that settings name, or of the catalogue; null: the server gives no list.
 */
export async function modelsListed({ base_url, api_key_env }: Settings): Promise<readonly ModelFacts[] | null> {
  if (base_url === undefined) return listModels(process.env, api_key_env);
  return modelsAt(base_url, api_key_env === undefined ? undefined : process.env[api_key_env]);
}

/** A server that gives no list of its models. */
export const noList = (baseUrl: string): RlmError =>
  new RlmError("provider_error", `${baseUrl} gives no list of models`, {
    suggestion:
      "Is the server running, and is its path right (often /v1)? A model can be named with --model local/NAME.",
  });

type SettingsAsked = Pick<SessionFlags, "command" | "settings" | "typed">;

/** Places of this process's settings. */
export function configPlaces(): ConfigPlaces {
  const { env } = process;
  return { cwd: process.cwd(), env, userFile: join(homeFolder(env), "config.json") };
}

/** Settings as the session takes them. */
export function sessionOptions(settings: Settings): SessionOptions {
  const { model: usual } = readUserFile(configPlaces().userFile);
  const models = settings.models?.split(",") ?? [];
  if (usual !== undefined) models.push(usual.replace(/\/.*/, "/*"));
  return { ...optionsOf(settings), models };
}

/**
 * The way in which loads of this process make texts of documents: converters are those of the user
 * alone.
 */
export function documentOptions(): DocumentOptions {
  const { convert } = settingsFromFiles("convert");
  const keptIn = indexFolder(process.env);
  return withoutUndefined({ convert, keptIn });
}

/** The models that sub-calls will ask. */
export function modelsOf({ model, base_url, api_key_env, price, leave_out }: Settings): Models {
  const options = { model, baseUrl: base_url, apiKeyEnv: api_key_env, price, leaveOut: leave_out };
  return openModels({ ...options, env: process.env });
}

/** Cancels batches that nobody wants any more at their providers, and says if some continue. */
export async function cancelBatches(store: Store, { stderr }: Pick<Terminal, "stderr">): Promise<void> {
  const models = modelsOf(readConfig({}, configPlaces()));
  const remaining = await cancelUnwanted({ store, models, clock: systemClock });
  const goesOn = amount(remaining, "batch continues at its provider", "batches continue at their providers");
  if (remaining > 0) stderr.write(`${goesOn}: the keys and settings here cannot cancel them\n`);
}

/**
 * Sub-calls of unknown price would count as free.
 *
 * @throws RlmError `invalid_argument`, `no_model_configured`
 */
export function checkPrice(settings: Settings): void {
  const { model, max_cost_usd } = settings;
  if (model === undefined || max_cost_usd === undefined || modelsOf(settings).price(model) !== null) return;
  const cure =
    'Tell it with --price IN/OUT, or limit by --max-tokens; --max-cost-usd "" takes back a limit that a file sets.';
  throw unknownPrice(model, "max_cost_usd", cure);
}

/** The refusal of a limit of dollars. @param limit as it was typed */
export function unknownPrice(model: string, limit: string, suggestion: string): RlmError {
  const problem = `the price of ${model} is not known, so ${limit} cannot be kept`;
  return new RlmError("invalid_argument", problem, { suggestion });
}
