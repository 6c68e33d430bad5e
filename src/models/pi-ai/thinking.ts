import type { Api, Model as PiModel } from "belay-pi-ai";
import { THINKING, THINKING_TOKENS, type Thinking } from "../../../runtime/index.ts";

/** Tokens that are always left for the answer. */
const ANSWER = 1024;

/**
 * pi-ai's options for a level. `maxTokens` bounds thinking and answer together: where pi-ai adds the budget of thinking to
 * it, it gets so much less.
 */
export function thinkingOptions(model: PiModel<Api>, wanted: Thinking, maxTokens: number) {
  const level = nearestLevel(model, wanted);
  if (level === "off") return { maxTokens };
  const budget = Math.min(THINKING_TOKENS[level], Math.max(0, maxTokens - ANSWER));
  const thinkingBudgets = { minimal: budget, low: budget, medium: budget, high: budget };
  if (!addsBudget(model)) return { maxTokens, reasoning: level, thinkingBudgets };
  // A budget of less than 1024 is refused.
  return budget < 1024 ? { maxTokens } : { maxTokens: maxTokens - budget, reasoning: level, thinkingBudgets };
}

/** The level, else the next one above that the model has, else the next below: models that always think have no `off`. */
export function nearestLevel(model: PiModel<Api>, wanted: Thinking): Thinking {
  const has = THINKING.filter((level) => hasLevel(model, level));
  const at = THINKING.indexOf(wanted);
  return has.find((level) => THINKING.indexOf(level) >= at) ?? has.at(-1) ?? "off";
}

const BEYOND_HIGH: readonly Thinking[] = ["xhigh", "max"];

function hasLevel({ api, reasoning, thinkingLevelMap }: PiModel<Api>, level: Thinking): boolean {
  if (!reasoning) return level === "off";
  // pi-ai lists them for models of Google, and then refuses to send them.
  if (api.startsWith("google-") && BEYOND_HIGH.includes(level)) return false;
  const mapped: unknown = Reflect.get(thinkingLevelMap ?? {}, level);
  if (mapped === null) return false;
  return mapped !== undefined || !BEYOND_HIGH.includes(level);
}

/** Protocols in which pi-ai sends maxTokens and the budget as one limit. */
function addsBudget({ api, compat }: PiModel<Api>): boolean {
  if (api !== "anthropic-messages" && api !== "bedrock-converse-stream") return false;
  return Reflect.get(compat ?? {}, "forceAdaptiveThinking") !== true;
}
