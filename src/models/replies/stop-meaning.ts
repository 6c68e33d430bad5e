/**
 * The meaning of a reason to stop: the answer is whole, cut or withheld; its call could not be
 * read; its turn was paused.
 */
export type StopMeaning = "whole" | "cut" | "withheld" | "unread" | "paused";

const REASONS: readonly (readonly [StopMeaning, RegExp])[] = [
  ["whole", /^(?:stop|end|eos|eos_token|end_turn|stop_sequence|stop_token|complete)$/i],
  ["cut", /^(?:length|max_tokens|model_length|(?:incomplete\.)?max_output_tokens|model_context_window_exceeded)$/i],
  ["withheld", /^(?:refusal|sensitive|blocklist|spii|language|(?:image_)?(?:safety|recitation|prohibited_content))$/i],
  ["withheld", /^(?:(?:incomplete\.)?content_filter(?:ed)?|guardrail_intervened|prompt_blocked|blocked)$/i],
  [
    "unread",
    /^(?:malformed_function_call|unexpected_tool_call|too_many_tool_calls|malformed_(?:tool_use|model_output))$/i,
  ],
  ["paused", /^pause_turn$/i],
];

/** The meaning of a reason in the words of any API; undefined for one that is not known. */
export const stopMeaning = (reason: string): StopMeaning | undefined =>
  REASONS.find(([, words]) => words.test(reason))?.[0];
