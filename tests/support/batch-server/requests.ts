import type { BatchAccount } from "../../../src/models/index.ts";
import type { BatchApi } from "../../../src/provider-batches/providers/index.ts";
import type { BatchClient, RowRequest } from "../../../src/provider-batches/providers/provider.ts";
import type { BatchServer } from "./index.ts";

export const BATCH_ID = "01JDELIVERY0000000000000000";

/** The account of a key at a scripted server. */
export function accountAt(server: BatchServer, api: BatchApi, key = "key-1"): BatchAccount {
  const anthropic = { "x-api-key": key, "anthropic-version": "2023-06-01" };
  const google = { "x-goog-api-key": key };
  const headers = { "anthropic-messages": anthropic, "google-generative-ai": google };
  return {
    ...{ id: `${api} ${key}`, api, baseUrl: server.baseUrl(api), model: "m", prove: () => "" },
    headers:
      api === "anthropic-messages" || api === "google-generative-ai"
        ? headers[api]
        : { authorization: `Bearer ${key}` },
  };
}

/** A request of each API with this prompt. */
export function bodyOf(api: BatchApi, prompt: string): object {
  if (api === "google-generative-ai") return { contents: [{ role: "user", parts: [{ text: prompt }] }] };
  if (api === "openai-responses")
    return { model: "m", input: [{ role: "user", content: [{ type: "input_text", text: prompt }] }] };
  const messages = [{ role: "user", content: prompt }];
  return api === "anthropic-messages" ? { model: "m", max_tokens: 100, messages } : { model: "m", messages };
}

export function rowsOf(api: BatchApi, prompts: readonly string[], id = BATCH_ID): readonly RowRequest[] {
  return prompts.map((prompt, n) => ({ custom_id: `${id}-${n}`, body: JSON.stringify(bodyOf(api, prompt)) }));
}

export async function* pagesOf(rows: readonly RowRequest[], size = 500): AsyncGenerator<readonly RowRequest[]> {
  for (let at = 0; at < rows.length; at += size) yield rows.slice(at, at + size);
}

/** Sends prompts as a batch; resolves with its name. */
export async function send(
  client: BatchClient,
  api: BatchApi,
  prompts: readonly string[],
  pageSize?: number,
  id = BATCH_ID,
  asking = async () => true,
): Promise<string> {
  const rows = rowsOf(api, prompts, id);
  const file = (await client.upload?.(id, pagesOf(rows, pageSize))) ?? null;
  return await client.create({ id, file, rows: pagesOf(rows, pageSize), asking });
}
