import { isDeepStrictEqual } from "node:util";
import type { Json } from "../../runtime/index.ts";
import type { Expected } from "./case.ts";
import { type Seen, toldIn } from "./seen.ts";
import { fieldOf } from "./server.ts";

/** What is not as expected, a line for each; empty: all is right. */
export function judge(expected: Expected, seen: Seen): readonly string[] {
  if (expected.any) {
    const wrongs = expected.any.map((one) => judge(one, seen));
    return wrongs.some((wrong) => wrong.length === 0) ? [] : (wrongs[0] ?? []);
  }
  return [
    ...outcome(expected, seen),
    ...words(expected, seen),
    ...requests(expected, seen),
    ...counts(expected, seen),
    ...cells(expected, seen),
  ];
}

function outcome(expected: Expected, seen: Seen): string[] {
  const wrong: string[] = [];
  const got = seen.fails === null ? shown(seen.value) : `${seen.fails}: ${seen.says}`;
  if (expected.value !== undefined) {
    const { value, loose = false } = expected;
    const isRight = seen.fails === null && (loose ? holds(seen.value, value) : isDeepStrictEqual(seen.value, value));
    if (!isRight) wrong.push(`value ${shown(value)}: ${got}`);
  }
  if (expected.not !== undefined && isDeepStrictEqual(seen.value, expected.not))
    wrong.push(`not ${expected.not}: ${got}`);
  if (expected.fails !== undefined && seen.fails !== expected.fails) wrong.push(`fails ${expected.fails}: ${got}`);
  for (const name of ["retriable", "resumable", "by", "exit", "done", "failed", "hits"] as const) {
    const wanted = expected[name];
    const had = name === "resumable" ? (seen.resumable ?? false) : seen[name];
    if (wanted !== undefined && had !== wanted) wrong.push(`${name} ${wanted}: ${had}`);
  }
  return wrong;
}

function words(expected: Expected, seen: Seen): string[] {
  const wrong: string[] = [];
  const { says, warns = [], quiet, told, toldNot } = expected;
  if (says !== undefined && !matches(says, seen.says)) wrong.push(`says ${says}: ${seen.says}`);
  for (const one of warns)
    if (!seen.warnings.some((warning) => matches(one, warning)))
      wrong.push(`warns ${one}: ${seen.warnings.join(" | ") || "no warning"}`);
  if (quiet && seen.warnings.length > 0) wrong.push(`quiet: ${seen.warnings.join(" | ")}`);
  const last = seen.asked.at(-1);
  const said = seen.told ?? (last ? toldIn(last) : "");
  if (told !== undefined && !matches(told, said)) wrong.push(`told ${told}: ${said}`);
  if (toldNot !== undefined && matches(toldNot, said)) wrong.push(`toldNot ${toldNot}: ${said}`);
  return wrong;
}

function requests(expected: Expected, { asked }: Seen): string[] {
  const wrong: string[] = [];
  const { requests: wanted, most, sent = [] } = expected;
  if (wanted !== undefined && asked.length !== wanted) wrong.push(`requests ${wanted}: ${asked.length}`);
  if (most !== undefined && asked.length > most) wrong.push(`most ${most}: ${asked.length}`);
  for (const [index, path, value] of sent) {
    const had = fieldOf(asked[index]?.body, path);
    if (!asked[index] || !isDeepStrictEqual(had, value))
      wrong.push(`sent ${index} ${path} ${shown(value)}: ${asked[index] ? shown(had) : "no such request"}`);
  }
  return wrong;
}

function counts({ marked, within }: Expected, { asked }: Seen): string[] {
  const wrong: string[] = [];
  const marks = asked.filter(({ body }) => JSON.stringify(body).includes('"cache_control"')).length;
  if (marked !== undefined && marks !== marked) wrong.push(`marked ${marked}: ${marks}`);
  const times = asked.map(({ at }) => at);
  const took = Math.max(...times) - Math.min(...times);
  if (within !== undefined && took > within) wrong.push(`within ${within} ms: ${Math.round(took)} ms`);
  return wrong;
}

function cells({ ran = [], notRan = [] }: Expected, { cells = [] }: Seen): string[] {
  return [
    ...ran.filter((one) => !cells.some((code) => matches(one, code))).map((one) => `ran ${one}: ${shown([...cells])}`),
    ...notRan.filter((one) => cells.some((code) => matches(one, code))).map((one) => `notRan ${one}: it ran`),
  ];
}

/** A pattern may match over several lines, in any case. */
function matches(pattern: string, text: string): boolean {
  return new RegExp(pattern, "is").test(text);
}

function holds(value: Json, wanted: Json): boolean {
  if (typeof wanted !== "object" || wanted === null || Array.isArray(wanted)) return isDeepStrictEqual(value, wanted);
  return Object.entries(wanted).every(([name, one]) => {
    const had = fieldOf(value, name);
    return had !== undefined && holds(had, one);
  });
}

const shown = (value: Json | undefined): string => (value === undefined ? "nothing" : JSON.stringify(value));
