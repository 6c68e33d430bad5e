import type { AssistantMessage } from "belay-pi-ai";

/** The meaning of a reason to stop: the answer is whole, cut or withheld; its call could not be read; its turn was paused. */
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

/** pi-ai's words about a reason that it takes for an error; older copies hand it on in these alone. */
const NAMED = /(?:stop|finish)[_ ]?reason: (\w{1,40})$|stopped with: (\w{1,40})$|incomplete: (\w{1,40})$/i;

/** A reason to stop, in an API's own words. */
export interface StopReason {
  readonly reason: string;
  readonly meaning: StopMeaning;
}

/** The reason of a message to stop; null for one that is not known, which pi-ai's words explain. */
export function stopReasonOf({
  rawStopReason,
  errorMessage = "",
}: Pick<AssistantMessage, "rawStopReason" | "errorMessage">): StopReason | null {
  const named = NAMED.exec(errorMessage);
  const reason = rawStopReason ?? named?.[1] ?? named?.[2] ?? named?.[3];
  if (reason === undefined) return null;
  const [meaning] = REASONS.find(([, words]) => words.test(reason)) ?? [];
  return meaning === undefined ? null : { reason, meaning };
}
