import { type Json, roundedInJson } from "../../../runtime/index.ts";
import { type Context, compileFind, find, openPlaces } from "../../context/index.ts";
import { textsIn } from "../../models/index.ts";
import { withoutUndefined } from "../../platform/json.ts";
import { cancelUnwanted } from "../../provider-batches/index.ts";
import { openRecorder } from "../exec/recorder.ts";
import { giveUpInterrupted } from "../exec/run-exec.ts";
import { plainEnd } from "../exec/work.ts";
import { type Account, type AskRecords, openAskIn } from "../journal/account.ts";
import { limitsMetIn, loadWarnings, repliesTold } from "../journal/exec-warnings.ts";
import type { Complete } from "../journal/records.ts";
import type { SessionParts } from "../parts.ts";
import type { Citation } from "./api.ts";
import { countsOf } from "./envelope.ts";
import type { Ending } from "./next.ts";
import { type AskInput, askIn } from "./records.ts";

/**
 * The end of an ask, as its last record keeps it: for an answer with how it was given, and its
 * citations.
 */
type AskEnding = Pick<Complete, "success" | "error_code" | "error_message" | "ended_by" | "limits_met"> & {
  readonly answer: Json;
};

/** ▣ Records how the session's open ask ended. */
export async function endAsk(setup: SessionParts, ending: AskEnding): Promise<void> {
  const state = setup.state();
  const end = askEnd(askIn(state), state.account, ending, setup.env.clock.now());
  await openRecorder(setup, end.exec_id).commit([end]);
}

/** Ends as cancelled what was interrupted: an exec, and the ask that is open. */
export async function discardInterrupted(setup: SessionParts): Promise<void> {
  if (!setup.above) await setup.env.store.batches.giveUp({ root: setup.row.id }, "all"); // ▣ nobody needs what is under way
  await giveUpInterrupted(setup);
  if (openAskIn(setup.state().account)) await endAsk(setup, GIVEN_UP);
  if (!setup.above) await cancelUnwanted(setup.env);
}

const FAILED = { success: false, answer: null };

/** The end of an ask that is given up. */
export const GIVEN_UP: AskEnding = { ...FAILED, error_code: "cancelled", error_message: "discarded" };

/** An end as its record keeps it. Citations are looked up in the context. */
export function endingOf(
  { answers, state }: SessionParts,
  { settings, question }: AskInput,
  ending: Ending,
): AskEnding {
  if (!ending.ok) {
    const { code, message, ended_by, limits: limits_met } = ending;
    return { ...FAILED, error_code: code, error_message: message, ...withoutUndefined({ ended_by, limits_met }) };
  }
  const { answer, answered_by, warnings } = ending;
  const { context } = state();
  const citations = context ? citationsOf(answer.cite, context).map((one) => ({ ...one })) : [];
  const models = [settings.model, settings.sub_model];
  const ask = askIn(state());
  const results = ask.execs.flatMap((exec) => exec.results);
  const toCaller = () => [...(answers.noticesOf?.(models, results, true) ?? []), ...loadWarnings(state())];
  const mendings = repliesTold([...results, withoutUndefined({ mended: ending.mended })]);
  const rounded = context ? roundedFigures(answer.value, context.text, question) : [];
  const unlisted = context ? citationsUnlisted(answer.value, citations.length, context.text) : [];
  const all = [
    ...warnings,
    ...citationsCapped(answer.cite),
    ...unlisted,
    ...rounded,
    ...mendings,
    ...(settings.depth === 0 ? toCaller() : []),
  ];
  const { turns, cells, depth_reached } = countsOf(ask);
  const recorded = { value: answer.value, answered_by, citations, warnings: all, turns, cells, depth_reached };
  return { success: true, error_code: null, error_message: null, answer: recorded };
}

/** The most of P that is searched for the digits of a figure, UTF-16 units. */
const SEARCHED_UNITS = 100_000_000;

/**
 * A warning if a figure of an answer may be an id that JavaScript has rounded: as a number, or as digits in a text that neither the
 * question nor P has.
 */
function roundedFigures(answer: Json, text: Context["text"], question: string): readonly string[] {
  const isElsewhere = (digits: string) =>
    question.includes(digits) || find(text, compileFind(digits, ""), 1).matches.length > 0;
  const written = text.length > SEARCHED_UNITS ? [] : textsIn(answer).flatMap((said) => said.match(LONG_FIGURE) ?? []);
  const ofText = written.slice(0, MOST_FIGURES).find((digits) => {
    // An id as it was written seldom is what JavaScript prints of the number.
    return roundedInJson(digits) !== null && String(Number(digits)) === digits && !isElsewhere(digits);
  });
  const found = roundedInJson(JSON.stringify(answer)) ?? ofText;
  return found === undefined ? [] : [`number_rounded: ${found}`];
}

const MOST_FIGURES = 20;
const LONG_FIGURE = /(?<![\w.-])\d{16,21}(?!\w|\.\d)/g;

/**
 * The end of an ask of this account. Its time is that of its turns and cells. @param at ms since
 * the epoch
 */
export function askEnd(ask: AskRecords, account: Account, ending: AskEnding, at: number): Complete {
  const { start, resumes } = ask;
  const { limits_met: last = [], ...how } = ending;
  const limits_met = [...new Set([...limitsMetIn(ask), ...last])];
  const met = limits_met.length === 0 ? {} : { limits_met };
  return { ...plainEnd(account, start.exec_id, at), kind: "ask", resumed: resumes.length, ...how, ...met };
}

const MAX_CITATIONS = 50;
const QUOTE_UNITS = 300;

/**
 * The citations of an answer. What is not a place of P is listed as not valid; it does not undo
 * the answer.
 */
function citationsOf(cite: Json | undefined, context: Pick<Context, "text" | "documents">): readonly Citation[] {
  if (cite === undefined || cite === null) return [];
  const { at } = openPlaces(context.text, context.documents);
  return givenIn(cite)
    .slice(0, MAX_CITATIONS)
    .map((one) => {
      const range = rangeOf(one);
      const citation = range ? citationOf(range, context.text, at) : INVALID;
      const { p_start, p_end } = citation;
      const isRight = range && isThere(one, range, context.text) && isAsNamed(one, range, at);
      return citation.valid && !isRight ? { ...INVALID, p_start, p_end } : citation;
    });
}

/**
 * False if a citation quotes words that its place does not have. Those of a very long place are not
 * looked for, and of a long quote its beginning is: each part of it is looked for in all of the place.
 */
function isThere(cite: Json, [start, end]: readonly [number, number], text: Context["text"]): boolean {
  const quote: unknown = typeof cite === "object" && cite !== null ? Reflect.get(cite, "quote") : null;
  if (typeof quote !== "string" || end - start > MOST_COMPARED) return true;
  const found = wordsOf(text.slice(start, end));
  const compared = end - start > MOST_QUOTED ? quote.slice(0, MOST_QUOTED) : quote;
  // A quote may leave something out, and go beyond its place.
  const parts = compared.split(/…|\.\.\./, MOST_PARTS);
  return parts.every((part) => found.includes(wordsOf(part)) || wordsOf(part).includes(found));
}

/**
 * False if a citation names another document than the one that its place is in, or a line beyond
 * its place.
 */
function isAsNamed(cite: Json, [start, end]: readonly [number, number], at: PlaceAt): boolean {
  if (typeof cite !== "object" || cite === null) return true;
  const first = at(start);
  const last = at(end - 1);
  const named = ["doc", "doc_id"]
    .map((name): unknown => Reflect.get(cite, name))
    .filter((one) => typeof one === "string");
  const line: unknown = Reflect.get(cite, "line");
  if (!first || !last) return true;
  const isInside = typeof line !== "number" || first.id !== last.id || (line >= first.line && line <= last.line);
  return isInside && named.every((name) => name === first.id);
}

/**
 * Letters and digits: a quote may have other spaces, quotation marks and dashes than its source.
 */
const wordsOf = (text: string) =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim();

const MOST_COMPARED = 100_000;
const MOST_QUOTED = 1000;
const MOST_PARTS = 20;

/**
 * A warning if a text names citations by numbers that its list does not have. A text may have a
 * list of its own, or quote P with its marks.
 *
 * @param count of the list
 */
function citationsUnlisted(answer: Json, count: number, text: Context["text"]): readonly string[] {
  if (typeof answer !== "string" || OWN_LIST.test(answer)) return [];
  const marks = Array.from(answer.matchAll(count > 0 ? NUMBERED : MARK)).filter(({ index, 0: mark }) => {
    const words = answer.slice(Math.max(0, index - LEAD_UNITS), index + mark.length);
    return (
      count > 0 || text.length > SEARCHED_UNITS || find(text, compileFind(escaped(words), ""), 1).matches.length === 0
    );
  });
  const named = marks.flatMap(({ 0: mark, 1: list }): (string | number)[] =>
    list === undefined ? [mark.trim()] : list.split(/[,;]/).map(Number),
  );
  const beyond = [...new Set(named)].filter((name) => typeof name === "string" || name > count);
  return beyond.length > 0 ? [`citations_unlisted: ${beyond.slice(0, MAX_CITATIONS).join(", ")}`] : [];
}

const NUMBERED = /\[(\d{1,2}(?:\s?[,;]\s?\d{1,2}){0,20})\](?!\()/g;
/** Marks of citations behind words of a text; a list of numbers follows a verb or a sign. */
const MARK =
  /(?<=[\p{L}\p{N}.,;:!?"'”’)\]*](?<!\b(?:are|is|was|were|be|at|in|of|lines?|rows?|ids?|values?|list|array)) ?|[.,;:!?]|\])(?:(?<![\p{L}\p{N}_$])\[(\d{1,2}(?:\s?[,;]\s?\d{1,2}){0,20})\](?![(\p{L}\p{N}_])|\[\^\d{1,2}\]|【[^】\n]{1,60}】)|(?<=[.,;!?])[¹²³⁴⁵⁶⁷⁸⁹⁰]{1,2}/gu;
/** A list of sources in the text itself. */
const OWN_LIST =
  /^ {0,8}(?:\[\^?\d{1,2}\]:?|[¹²³⁴-⁹]) {0,8}\S|^[^\w\n]{0,4}(?:sources?|references?|citations?|quellen|footnotes?)[^\w\n]{0,4}$/im;
const LEAD_UNITS = 15;
const escaped = (words: string) => words.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");

/** A warning if more places were given than are listed. */
function citationsCapped(cite: Json | undefined): readonly string[] {
  const { length } = givenIn(cite ?? []);
  return length > MAX_CITATIONS ? [`citations_capped: ${length}`] : [];
}

const givenIn = (cite: Json): readonly Json[] => (isPair(cite) || !Array.isArray(cite) ? [cite] : cite);

/** Finds the document that an offset of P is in, and the line and label there. */
type PlaceAt = (offset: number) => {
  readonly id: string;
  readonly start: number;
  readonly line: number;
  readonly place: string | null;
} | null;

function citationOf([start, end]: readonly [number, number], text: Context["text"], at: PlaceAt): Citation {
  const isPlace = Number.isInteger(start) && Number.isInteger(end) && start >= 0 && start < end;
  if (!isPlace || end > text.length) return { ...INVALID, p_start: finite(start), p_end: finite(end) };
  const place = at(start);
  return {
    valid: true,
    doc: place?.id ?? null,
    line: place?.line ?? null,
    place: place?.place ?? null,
    start: place ? start - place.start : null,
    end: place ? end - place.start : null,
    p_start: start,
    p_end: end,
    quote: text.slice(start, Math.min(end, start + QUOTE_UNITS)).replace(/[\uD800-\uDBFF]$/, ""),
  };
}

const INVALID: Citation = {
  valid: false,
  doc: null,
  line: null,
  place: null,
  start: null,
  end: null,
  p_start: null,
  p_end: null,
  quote: null,
};

const finite = (value: number) => (Number.isFinite(value) ? value : null);
/** A pair of numbers, of which JSON has made null of a NaN. */
const isPair = (value: Json): value is [number | null, number | null] =>
  Array.isArray(value) &&
  value.length === 2 &&
  value.every((one) => typeof one === "number" || one === null) &&
  value.some((one) => one !== null);

/** `[start, end]`, or what has both: a search hit, a document. */
function rangeOf(value: Json): readonly [number, number] | null {
  if (isPair(value)) return [value[0] ?? Number.NaN, value[1] ?? Number.NaN];
  if (typeof value !== "object" || value === null) return null;
  const start: unknown = Reflect.get(value, "start");
  const end: unknown = Reflect.get(value, "end");
  return typeof start === "number" && typeof end === "number" ? [start, end] : null;
}
