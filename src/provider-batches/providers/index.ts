import type { BatchAccount } from "../../models/port.ts";
import { anthropic } from "./anthropic.ts";
import { gemini } from "./gemini.ts";
import { openAi } from "./openai.ts";
import type { BatchClient, BatchProvider } from "./provider.ts";

export type { BatchProvider };

const PROVIDERS = [openAi, anthropic, gemini] as const;

/** An API whose requests can go by batches. */
export type BatchApi = (typeof PROVIDERS)[number]["apis"][number];

export const BATCH_APIS: readonly BatchApi[] = PROVIDERS.flatMap(({ apis }): readonly BatchApi[] => apis);

/** The provider of batches with requests of an API; undefined: Belay knows none. */
export function batchProviderOf(api: string): BatchProvider | undefined {
  const providers: readonly BatchProvider[] = PROVIDERS;
  return providers.find(({ apis }) => apis.includes(api));
}

/**
 * The field of a row's answer that says how many other answers its request has got in the batch.
 */
export const OTHER_ROWS = "belay_other_rows";

/** The client of an account's batches. @param stop see {@link BatchProvider.open} */
export function clientOf(account: BatchAccount, stop?: AbortSignal): BatchClient {
  const provider = batchProviderOf(account.api);
  if (!provider) throw new Error(`no provider has batches of ${account.api}`);
  return provider.open(account, stop);
}

/**
 * The whole answer to a request as the events of a stream; null: Belay does not know the API.
 *
 * @param api its name may have words before it, as in `azure-openai-responses`
 * @throws Error for an answer of another form
 */
export function answerEvents(api: string, answer: unknown): string | null {
  const known = BATCH_APIS.find((one) => api.endsWith(one));
  return known === undefined ? null : (batchProviderOf(known)?.events(answer, known) ?? null);
}
