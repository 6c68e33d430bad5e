import { builtins, cellReference } from "../../builtins/index.ts";
import type { Json } from "../../runtime/index.ts";
import type { AskHost, AskOptions } from "../session/index.ts";
import { PROMPT_VERSION, systemPrompt } from "./prompt.ts";
import type { AskSettings } from "./rounds.ts";

const DEFAULT_TURNS = 20;
const DEFAULT_TURN_TOKENS = 16_000;
const HISTORY_CHARS = 400_000;

/** What an ask begins with. Its models are resolved now, so that what is wrong with them is said before anything is kept. */
export function begin(question: string, options: AskOptions, { models }: Pick<AskHost, "models">): Json {
  const model = models.resolve(options.model ?? null).id;
  const sub_model = models.resolve(options.subModel ?? models.fallback ?? model).id;
  const settings: AskSettings = {
    model,
    sub_model,
    protocol: options.protocol ?? "auto",
    max_turns: options.maxTurns ?? DEFAULT_TURNS,
    turn_tokens: options.turnTokens ?? DEFAULT_TURN_TOKENS,
    depth: 0,
    max_depth: 0,
    schema: options.schema ?? null,
    history_chars: HISTORY_CHARS,
    prompt: PROMPT_VERSION,
  };
  return { question, settings: { ...settings }, system: systemPrompt(cellReference(builtins), false) };
}
