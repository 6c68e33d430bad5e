export {
  CROSSING,
  type Curve,
  type CurvePoint,
  crossingLine,
  curvesOf,
} from "./curves.ts";
export { listIn } from "./known-scores.ts";
export { cellsOf, isFigure, lineOf, lossesOf, lossLine, markdownOf, TITLES, unreadLine, unreadOf } from "./report.ts";
export { type EvalRow, figuresOf, type JobEnd, METHODS, type Method, roomOf, rowOf, SCORE_NAMES } from "./rows.ts";
export { type Item, itemOf, SUITES, type SuiteName } from "./suites.ts";
