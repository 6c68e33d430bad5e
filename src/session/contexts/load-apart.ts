import type { Store } from "../../store/index.ts";
import { loadRequest } from "../exec/request.ts";
import type { LoadSource } from "../option-types.ts";
import { keepContext } from "./contexts.ts";

/** Loads a context and keeps it in the store, for sessions that are opened later. Answers its key. @throws as `load` */
export async function loadIntoStore(
  store: Store,
  source: LoadSource,
  options: Parameters<typeof loadRequest>[2],
): Promise<string> {
  const context = await loadRequest("load", source, options).read(null);
  await keepContext(store, context);
  return context.key;
}
