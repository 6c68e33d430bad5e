import { lazyApi, registerApiProvider } from "belay-pi-ai/compat";

export {
  findEnvKeys,
  getModels,
  getProviders,
  registerFauxProvider,
  streamSimple,
} from "belay-pi-ai/compat";
export { builtinProviders, getBuiltinModelDataGeneratedAt } from "belay-pi-ai/providers/all";

/** Registers pi-ai's logins, which it too imports by names that no bundler can follow. */
export async function loadLogins(): Promise<void> {
  const { registerBunOAuthFlows } = await import("belay-pi-ai/bun-oauth");
  registerBunOAuthFlows();
}

// pi-ai imports this one by a name that no bundler can follow.
registerApiProvider({
  api: "bedrock-converse-stream",
  ...lazyApi(() => import("belay-pi-ai/api/bedrock-converse-stream")),
});
