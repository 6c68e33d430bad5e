import * as v from "valibot";
import { argumentError, type CallScope, type Json, roundedInJson } from "../runtime/index.ts";
import { argumentCheck, type Builtin, optional } from "./define.ts";

const json = v.custom<Json>((value) => value !== undefined, "must be a JSON value");

const options = v.strictObject({ cite: v.optional(json) }, ({ expected, received }) =>
  expected === "never" ? `has no option ${received}` : "must be { cite }",
);

const read = argumentCheck("answer", { value: json, options: optional(options) });

export const answer: Builtin = {
  name: "answer",
  signature: "function answer(value: unknown, options?: AnswerOptions): null",
  summary:
    "Answers the question of an ask: the ask ends with this value, if the cell succeeds. Of several calls in a cell the last counts; outside of an ask the value is only kept with the exec.",
  types: `interface AnswerOptions {
  /**
   * Places of P that the answer rests on, at most 50: [start, end], or anything with start and end,
   * such as search hits.
   */
  cite?: unknown;
}`,
  example: 'const { matches } = find("TODO");\nanswer(matches.length, { cite: matches.slice(0, 3) });',
  errors: {
    js_error: "no value is given, or the value and its places are longer as JSON than a result may be",
  },
  source: new URL("./answer.guest.js", import.meta.url),
  host: {
    answer(_services, args, scope) {
      const { value, options = {} } = read(args);
      return give(value, options.cite ?? null, scope);
    },
  },
};

function give(value: Json, cite: Json, scope: CallScope): null {
  const answered = { value, cite };
  const json = JSON.stringify(answered);
  const bytes = Buffer.byteLength(json);
  const most = scope.limits.max_result_bytes;
  if (bytes > most) {
    throw argumentError("RangeError", `answer: ${bytes} bytes of JSON, at most ${most} are taken`, "Answer with less.");
  }
  const rounded = roundedInJson(json);
  if (rounded !== null) scope.warn(`number_rounded: ${rounded}`);
  scope.answer(answered);
  return null;
}
