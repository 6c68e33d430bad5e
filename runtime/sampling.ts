import * as v from "valibot";

/** The most texts of `stop`, and the most UTF-16 units of each. */
const MOST_STOPS = 4;
const STOP_UNITS = 1000;

const from = (least: number, most: number, message = `must be a number from ${least} to ${most}`) =>
  v.optional(v.pipe(v.number(message), v.minValue(least, message), v.maxValue(most, message)));

const SEED = "must be a whole number from -(2^53 - 1) to 2^53 - 1";
const STOP = `must be a text, or a list of 1 to ${MOST_STOPS}, each of 1 to ${STOP_UNITS} characters`;
const isStop = (text: unknown) => typeof text === "string" && text.length >= 1 && text.length <= STOP_UNITS;
const areStops = (given: unknown) =>
  Array.isArray(given) ? given.length >= 1 && given.length <= MOST_STOPS && given.every(isStop) : isStop(given);

/** The schema of each parameter that a caller may set. Its message says what the value must be. */
export const SAMPLING = {
  temperature: from(0, 2),
  top_p: from(0, 1),
  seed: v.optional(v.pipe(v.number(SEED), v.safeInteger(SEED))),
  /** Texts at which the answer ends. They are not a part of it. */
  stop: v.optional(
    v.pipe(
      v.custom<string | readonly string[]>(areStops, STOP),
      v.transform((given): readonly string[] => (typeof given === "string" ? [given] : given)),
    ),
  ),
};

/** Sampling parameters of a call. The provider chooses those that are absent. */
export interface Sampling {
  /** 0 to 2. */
  readonly temperature?: number | undefined;
  /** 0 to 1. */
  readonly top_p?: number | undefined;
  /** The same seed may give the same answer. */
  readonly seed?: number | undefined;
  /** Texts at which the answer ends. They are not a part of it. */
  readonly stop?: readonly string[] | undefined;
}

/** The parameters among some fields; undefined if there are none. */
export function samplingIn({ temperature, top_p, seed, stop }: Sampling): Sampling | undefined {
  const isUsual = temperature === undefined && top_p === undefined && seed === undefined && stop === undefined;
  return isUsual ? undefined : { temperature, top_p, seed, stop };
}

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
