import { firstly, RlmError, remedy } from "../../runtime/index.ts";
import { agentDirOf, type Env } from "./keys/pi-files.ts";
import { registeredModel, registeredPrice, serverModel } from "./pi-ai/registry.ts";
import type { Model, Models } from "./port.ts";

export interface ModelsOptions {
  /** The model for calls that name none, `provider/id`. */
  readonly model?: string | undefined;
  /** An OpenAI-compatible server, with its path (`http://127.0.0.1:8080/v1`): every name is then a model there. */
  readonly baseUrl?: string | undefined;
  /** The environment variable that holds the API key; it goes before all other places. */
  readonly apiKeyEnv?: string | undefined;
  readonly env: Env;
  /** Pi's folder with auth.json and models.json (default: `PI_CODING_AGENT_DIR`, else `~/.pi/agent`). */
  readonly agentDir?: string | undefined;
  /** Milliseconds since 1970: tells whether a login has expired. */
  readonly now?: () => number;
}

/**
 * Models by name. Nothing is read or loaded before the first `resolve`.
 *
 * @throws RlmError `invalid_argument` if the base URL is not one
 */
export function openModels(options: ModelsOptions): Models {
  const { baseUrl, env, apiKeyEnv, now = Date.now } = options;
  if (baseUrl !== undefined) checkBaseUrl(baseUrl);
  const registry = { env, apiKeyEnv, now, agentDir: options.agentDir ?? agentDirOf(env) };
  const opened = new Map<string, Model>();
  const nameOf = (name: string | null): string => {
    const wanted = name ?? options.model;
    if (wanted === undefined) throw noModel(baseUrl !== undefined);
    return wanted;
  };
  return {
    fallback: options.model ?? null,
    price: (name) => (baseUrl === undefined ? registeredPrice(nameOf(name), registry) : null),
    resolve(name) {
      const wanted = nameOf(name);
      const known = opened.get(wanted);
      if (known) return known;
      const model = baseUrl === undefined ? registeredModel(wanted, registry) : serverModel(wanted, baseUrl, registry);
      opened.set(wanted, model);
      return model;
    },
  };
}

function checkBaseUrl(baseUrl: string): void {
  const url = URL.parse(baseUrl);
  const suggestion = `Pass an address such as http://127.0.0.1:8080/v1; for a key ${remedy("nameKey")}.`;
  // A message must not repeat an address that holds a password.
  if (url?.username || url?.password)
    throw new RlmError("invalid_argument", "the base URL holds a password", { suggestion });
  if (url?.protocol === "http:" || url?.protocol === "https:") return;
  throw new RlmError("invalid_argument", `${baseUrl} is not an http address`, { suggestion });
}

function noModel(atServer: boolean): RlmError {
  return new RlmError("no_model_configured", "no model is configured", {
    suggestion: atServer
      ? `${firstly("nameModel")}, for example local/NAME.`
      : `${firstly("nameModel")}; ${remedy("nameServer")}.`,
  });
}

/** Returns these models with another one for calls that name none; null: with their own. */
export function withFallback(models: Models, fallback: string | null): Models {
  if (fallback === null) return models;
  return {
    fallback,
    resolve: (name) => models.resolve(name ?? fallback),
    price: (name) => models.price(name ?? fallback),
  };
}
