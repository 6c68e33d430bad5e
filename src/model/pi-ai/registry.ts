import type { Api, Model as PiModel } from "belay-pi-ai";
import { type Authorization, authorize, namedKey } from "../keys/authorize.ts";
import { type Env, type PiFiles, readPiFiles } from "../keys/pi-files.ts";
import type { Model } from "../port.ts";
import { findModel, modelAt, readModelName } from "./catalog.ts";
import { loadPiAi, loadPiOAuth } from "./load.ts";
import { piAiModel } from "./model.ts";

export interface RegistryOptions {
  readonly env: Env;
  readonly agentDir: string;
  readonly apiKeyEnv: string | undefined;
  readonly now: () => number;
}

/** The key that is sent if a server is named without one: OpenAI's SDK does not send without a key. */
const PLACEHOLDER_KEY = "none";

/** A model of the server at `baseUrl`. Keys of other providers are never sent there. */
export function serverModel(name: string, baseUrl: string, options: RegistryOptions): Model {
  const { model, price, window } = modelAt(baseUrl, readModelName(name));
  const key = options.apiKeyEnv === undefined ? PLACEHOLDER_KEY : namedKey(options.apiKeyEnv, options.env);
  const authorization: Authorization = { key, headers: {}, expires: Number.POSITIVE_INFINITY };
  return piAiModel({ model, price, window, isNamed: true, authorize: () => authorization, load: loadPiAi });
}

/**
 * A model of pi-ai's list or of the user's models.json. Its key is looked for at once, and again when it has expired: the
 * user's Pi may have renewed a login in the meantime.
 *
 * @throws RlmError `no_model_configured`, `auth_expired`, `invalid_config`
 */
export function registeredModel(name: string, options: RegistryOptions): Model {
  const { env, agentDir, apiKeyEnv, now } = options;
  const piAi = loadPiAi();
  const { provider, id } = readModelName(name);
  const files = readPiFiles(agentDir);
  const { model, price, window, headers } = findModel(piAi, files, { provider, id });
  const find = (from: PiFiles) =>
    authorize(provider, headers, { env, apiKeyEnv, files: from, envNames: piAi.findEnvKeys(provider) ?? [], now });
  let authorization = find(files);
  return piAiModel({
    model: behindLogin(model, authorization, files),
    price,
    window,
    authorize: () => {
      if (now() >= authorization.expires) authorization = find(readPiFiles(agentDir));
      return authorization;
    },
    load: () => piAi,
  });
}

/** @throws RlmError `no_model_configured` for an unknown name */
export function registeredPrice(name: string, { agentDir }: RegistryOptions): Model["price"] {
  return findModel(loadPiAi(), readPiFiles(agentDir), readModelName(name)).price;
}

/** Some logins (GitHub Copilot) say at which address their models are. */
function behindLogin(model: PiModel<Api>, { key }: Authorization, files: PiFiles): PiModel<Api> {
  const login = files.credentials.get(model.provider);
  if (login?.type !== "oauth" || login.access !== key) return model;
  const provider = loadPiOAuth().getOAuthProvider(model.provider);
  return provider?.modifyModels?.([model], login)[0] ?? model;
}
