import * as v from "valibot";
import type { Json } from "../../../runtime/index.ts";
import { parseJson } from "../../platform/json.ts";
import type { AnswerKey, NewAnswer } from "../job-store.ts";
import { jsonIn } from "./forms.ts";
import type { Bounds } from "./pack.ts";
import {
  columnsOf,
  countColumn,
  instantColumn,
  isSealed,
  numberColumn,
  type Row,
  seal,
  textColumn,
  textColumnOrNull,
} from "./row.ts";

/** Only shorter answers are kept (`MOST_KEPT_UNITS` in `src/session/sub-calls/cache.ts`). */
const ANSWER_BOUNDS: Bounds = { bytes: 4 * 2 ** 20, values: 2 ** 20, depth: 1000 };

/** Columns of an answer but its seal and its value, in the order of {@link answerFields}. */
export const ANSWER_COLUMNS = [
  "asked",
  "run",
  "n",
  "k",
  "origin_run",
  "origin_n",
  "origin_k",
  "model",
  "usd",
  "tokens",
  "at",
  "mended",
] as const;

/** All of an answer. A value that is larger than one can be is not fetched. */
export const SHOWN_ANSWER = `${ANSWER_COLUMNS.map((column) => `a.${column}`).join(", ")}, a.sha256,
  CASE WHEN octet_length(a.value) <= ${ANSWER_BOUNDS.bytes} THEN a.value END AS value`;

const COLUMNS = {
  asked: textColumn,
  run: textColumn,
  n: numberColumn,
  k: numberColumn,
  origin_run: textColumn,
  origin_n: numberColumn,
  origin_k: numberColumn,
  model: textColumn,
  usd: countColumn,
  tokens: countColumn,
  at: instantColumn,
  mended: textColumnOrNull,
};

/** Columns of an answer without its value. */
interface AnswerColumns extends AnswerKey, Pick<NewAnswer, "model" | "tokens" | "at"> {
  readonly origin_run: string;
  readonly origin_n: number;
  readonly origin_k: number;
  readonly usd: number;
  /** JSON of a list; null: nothing was put right. */
  readonly mended: string | null;
}

/** A row of `answers` as it is written. */
export interface AnswerRow extends AnswerColumns {
  /** JSON. */
  readonly value: string;
  readonly sha256: Uint8Array;
}

/** A row as it was read and found whole. */
export interface ReadAnswer extends AnswerColumns {
  readonly value: Json;
}

/** A null is left out: seals of earlier builds have no place for `mended`. */
const sealedFields = (columns: AnswerColumns, value: string) => [
  ...answerFields(columns).filter((one) => one !== null),
  value,
];

/** Another user may have written the store. */
const Mended = v.fallback(
  v.optional(v.pipe(v.array(v.pipe(v.string(), v.maxLength(100))), v.maxLength(20))),
  undefined,
);

export const mendedOf = ({ mended }: Pick<AnswerColumns, "mended">): readonly string[] | undefined =>
  v.parse(Mended, parseJson(mended ?? ""));

export const answerFields = (columns: AnswerColumns) => ANSWER_COLUMNS.map((column) => columns[column]);

/** The row of an answer that a job has asked for: it is its own origin. */
export function newAnswerRow({ value, nanodollars: usd, mended: kinds, ...columns }: NewAnswer): AnswerRow {
  const { run: origin_run, n: origin_n, k: origin_k } = columns;
  const mended = kinds === undefined ? null : JSON.stringify(kinds);
  return sealedRow({ ...columns, usd, origin_run, origin_n, origin_k, mended }, JSON.stringify(value));
}

/** The row of a job that takes an answer over. */
export function takenRow(answer: ReadAnswer, key: Pick<AnswerColumns, "run" | "n" | "k">): AnswerRow {
  const { value, ...columns } = answer;
  return sealedRow({ ...columns, ...key }, JSON.stringify(value));
}

function sealedRow(columns: AnswerColumns, value: string): AnswerRow {
  return { ...columns, value, sha256: seal(sealedFields(columns, value)) };
}

/** `null` if the row is damaged: the model is asked then. */
export function answerIn(row: Row): ReadAnswer | null {
  const content = jsonIn(row, "value", "any", ANSWER_BOUNDS);
  if (!content) return null;
  try {
    const columns = columnsOf(row, COLUMNS);
    return isSealed(row, sealedFields(columns, content.text)) ? { ...columns, value: content.value } : null;
  } catch {
    return null;
  }
}
