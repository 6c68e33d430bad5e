import type { ReplyApi } from "./case.ts";

/** Providers of Pi's models.json, by the API that a case names: each case is a model there. */
export const PROVIDERS: Readonly<Record<Exclude<ReplyApi, "chat">, { readonly api: string; readonly path: string }>> = {
  "chat-listed": { api: "openai-completions", path: "/v1" },
  responses: { api: "openai-responses", path: "/v1" },
  anthropic: { api: "anthropic-messages", path: "" },
  gemini: { api: "google-generative-ai", path: "/v1beta" },
};
