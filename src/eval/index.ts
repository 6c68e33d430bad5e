export { type Item, itemOf, SUITES, type SuiteName, tokensIn } from "./items.ts";
export { type Expected, SCORE_NAMES, type ScoreName, scoreOf } from "./scores.ts";
