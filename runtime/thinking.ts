/** Levels of thinking, from the least. `off`: as little as the model can. */
export const THINKING = ["off", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

/** A level of thinking before an answer. */
export type Thinking = (typeof THINKING)[number];

/** Tokens of thinking at each level, where a provider takes a number of them. */
export const THINKING_TOKENS: Readonly<Record<Thinking, number>> = {
  off: 0,
  minimal: 1024,
  low: 2048,
  medium: 8192,
  high: 16_384,
  xhigh: 16_384,
  max: 16_384,
};
