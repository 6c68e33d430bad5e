import type { BatchAccount, BatchApi } from "../models/index.ts";
import { anthropicCarrier } from "./anthropic.ts";
import type { Carrier } from "./carrier.ts";
import { geminiCarrier } from "./gemini.ts";
import { openAiCarrier } from "./openai.ts";

const CARRIERS: Readonly<Record<BatchApi, (account: BatchAccount, stop?: AbortSignal) => Carrier>> = {
  "openai-completions": openAiCarrier,
  "openai-responses": openAiCarrier,
  "anthropic-messages": anthropicCarrier,
  "google-generative-ai": geminiCarrier,
};

/** The client of an account's batches. @param stop cuts requests off, but for those that make or take away something */
export const carrierOf = (account: BatchAccount, stop?: AbortSignal): Carrier => CARRIERS[account.api](account, stop);
