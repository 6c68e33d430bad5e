import type { BatchAccount, BatchApi } from "../models/index.ts";
import { anthropicClient } from "./anthropic.ts";
import { geminiClient } from "./gemini.ts";
import { openAiClient } from "./openai.ts";
import type { BatchClient } from "./provider.ts";

const CLIENTS: Readonly<Record<BatchApi, (account: BatchAccount, stop?: AbortSignal) => BatchClient>> = {
  "openai-completions": openAiClient,
  "openai-responses": openAiClient,
  "anthropic-messages": anthropicClient,
  "google-generative-ai": geminiClient,
};

/** The client of an account's batches. @param stop cuts requests off, but for those that make or take away something */
export const clientOf = (account: BatchAccount, stop?: AbortSignal): BatchClient => CLIENTS[account.api](account, stop);
