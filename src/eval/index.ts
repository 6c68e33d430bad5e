export {
  CROSSING,
  type Curve,
  type CurvePoint,
  crossingLine,
  curvesOf,
} from "./curves.ts";
export { cellsOf, isFigure, lineOf, lossesOf, lossLine, markdownOf, TITLES, unreadLine, unreadOf } from "./report.ts";
export { type EvalRow, figuresOf, type JobEnd, METHODS, type Method, roomOf, rowOf } from "./rows.ts";
export { listIn, SCORE_NAMES } from "./scores.ts";
export { type Item, itemOf, SUITES, type SuiteName } from "./suites.ts";
