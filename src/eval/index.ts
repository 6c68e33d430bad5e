export { cellsOf, isFigure, lineOf, lossesOf, lossLine, markdownOf, TITLES, unreadLine, unreadOf } from "./report.ts";
export { type EvalRow, figuresOf, type JobEnd, METHODS, type Method, roomOf, rowOf } from "./rows.ts";
export { SCORE_NAMES } from "./scores.ts";
export { type Item, itemOf, SUITES, type SuiteName } from "./suites.ts";
