import * as v from "valibot";
import { type ErrorCode, isErrorCode, type Json, RlmError, readGuestFile, remedy } from "../../runtime/index.ts";

export const SEARCH_STRATEGIES = ["regex", "bm25", "routing", "auto"] as const;
export type SearchStrategy = (typeof SEARCH_STRATEGIES)[number];

/** Options of the search for relevant parts, and the number of parts that are read (default 10, at most 50). */
export interface QueryOptions {
  readonly maxSections?: number | undefined;
  readonly searchStrategy?: SearchStrategy | undefined;
}

const DEFAULT_SECTIONS = 10;
const MAX_SECTIONS = 50;

/** The remedies that a failed query suggests. The library, the command and Pi each have words for them. */
const CURES = {
  moreSections: remedy("moreSections"),
  fewerSections: remedy("fewerSections"),
  moreSubCalls: remedy("moreSubCalls"),
};

/** The cell that answers a question. @throws RlmError `invalid_argument` */
export function queryCell(
  prompt: string,
  { maxSections = DEFAULT_SECTIONS, searchStrategy = "auto" }: QueryOptions,
): string {
  if (prompt.trim() === "") throw refuse("the question is empty", "Ask something.");
  if (!(Number.isInteger(maxSections) && maxSections > 0)) {
    throw refuse(`maxSections is ${maxSections}`, `Pass a whole number from 1 to ${MAX_SECTIONS}.`);
  }
  if (!SEARCH_STRATEGIES.includes(searchStrategy)) {
    throw refuse(`searchStrategy is ${searchStrategy}`, `Pass one of ${SEARCH_STRATEGIES.join(", ")}.`);
  }
  const guest = readGuestFile(new URL("./query.guest.js", import.meta.url)).trimEnd();
  const input = { prompt, max_sections: Math.min(maxSections, MAX_SECTIONS), strategy: searchStrategy, cures: CURES };
  return `const QUERY = ${JSON.stringify(input)};\n${guest}\n`;
}

const refuse = (what: string, suggestion: string) => new RlmError("invalid_argument", what, { suggestion });

/** The code of a failure; one that this build does not know is told as `sub_agent_error`. */
const Code = v.pipe(
  v.string(),
  v.transform((code): ErrorCode => (isErrorCode(code) ? code : "sub_agent_error")),
);

const Note = v.object({ source: v.string(), note: v.string() });

export interface QueryNote {
  readonly source: string;
  readonly note: string;
}

/** The cell's own end, read leniently. */
const Result = v.object({
  /** null if there is none. */
  answer: v.fallback(v.nullable(v.string()), null),
  /** The source of each section that was read. */
  sections: v.fallback(v.array(v.string()), []),
  strategy: v.fallback(v.nullable(v.string()), null),
  /** Sections whose sub-call failed. */
  failed: v.fallback(v.number(), 0),
  /** Notes on sections that help. */
  notes: v.fallback(v.array(Note), []),
  /** Each begins with its code. */
  warnings: v.fallback(v.array(v.string()), []),
  /** Why there is no answer. */
  error: v.fallback(
    v.nullable(v.object({ code: Code, name: v.string(), message: v.string(), suggestion: v.string() })),
    null,
  ),
});

/** The cell's result. */
type QueryResult = Readonly<v.InferOutput<typeof Result>>;

/** The cell's result; a cell that gave none has an empty one. */
export function readQueryResult(result: Json): QueryResult {
  return v.parse(Result, typeof result === "object" && result !== null ? result : {});
}

/** A text that a model is to read, or why it cannot be read: the failure then replaces an answer. */
export type ObjectToRead = FoundObject | MissingObject;

/** A document of P or of the conversation. Offsets are UTF-16 units of either. */
export interface FoundObject {
  readonly id: string;
  /** The object's name as models read it. */
  readonly name: string;
  readonly of: "history" | "P";
  readonly start: number;
  readonly end: number;
}

/** A target that was named and is not there. */
interface MissingObject extends Pick<FoundObject, "id" | "name"> {
  readonly error: { readonly code: string; readonly message: string };
}

export const isFound = (object: ObjectToRead): object is FoundObject => !("error" in object);

/** Options of a reading. */
export interface ReadingOptions {
  /** `provider/id`; default: the session's. */
  readonly model?: string | undefined;
  /** A larger object is explored with cells: tokens, four characters each. */
  readonly inlineTokens: number;
  /** Output tokens of the answer about an object that is in a prompt. */
  readonly maxTokens: number;
  /** One model reads all objects, and gives one answer. By default each object has a model that sees nothing else. */
  readonly together?: boolean | undefined;
  /** The estimate that the answer contains, as the caller gave it. */
  readonly estimate?: ReadingEstimate | undefined;
}

/** The highest cost of reading objects. */
export interface ReadingEstimate {
  readonly calls: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  /** null: no price is known. */
  readonly cost_usd: number | null;
}

/** Turns of a model that explores an object. */
const CHILD_TURNS = 10;

/** Objects of one call. */
const MOST_OBJECTS = 100;

/** @throws RlmError `invalid_argument` for objects that cannot be read so */
export function checkObjects(instructions: string, objects: readonly ObjectToRead[]): void {
  if (instructions.trim() === "") throw refuse("the instructions are empty", "Say what is to be found out.");
  if (objects.length === 0) throw refuse("there is no object to read", "Name one.");
  if (objects.length > MOST_OBJECTS)
    throw refuse(`${objects.length} objects (limit ${MOST_OBJECTS})`, "Split the call.");
  for (const object of objects.filter(isFound)) checkText(object);
}

/** @throws RlmError `invalid_argument` for an object without text */
export function checkText({ id, name, start, end }: FoundObject): void {
  if (start >= end) throw refuse(`the object ${id} (${name}) has no text`, "Leave it out.");
}

/** The cell that has each object read by a model. @throws RlmError `invalid_argument` */
export function objectsCell(
  instructions: string,
  objects: readonly ObjectToRead[],
  { model, inlineTokens, maxTokens, together = false, estimate }: ReadingOptions,
): string {
  checkObjects(instructions, objects);
  const guest = readGuestFile(new URL("./objects.guest.js", import.meta.url)).trimEnd();
  const input = {
    instructions,
    objects,
    together,
    model: model ?? null,
    inline_tokens: inlineTokens,
    max_tokens: maxTokens,
    max_turns: CHILD_TURNS,
    estimate: estimate ?? null,
  };
  return `const OBJECTS = ${JSON.stringify(input)};\n${guest}\n`;
}

/** A model's answer about an object, or why there is none. If it read several together, their ids and names are listed. */
type ObjectRead = { readonly object: string; readonly name: string } & (
  | {
      readonly answer: string;
      readonly confidence: "high" | "medium" | "low";
      /** Quotes. */
      readonly evidence: readonly string[];
    }
  | { readonly error: { readonly code: string; readonly message: string; readonly retriable: boolean } }
);

/** The cell's results beside those of every query; null for the result of another cell. */
export interface ObjectsRead {
  /** In the order of the objects. */
  readonly results: readonly ObjectRead[];
  readonly estimate: ReadingEstimate | null;
}

export function readObjectsResult(result: Json): ObjectsRead | null {
  const read = v.safeParse(ObjectsResult, result);
  return read.success ? read.output : null;
}

const named = { object: v.string(), name: v.string() };

const ObjectsResult = v.object({
  results: v.array(
    v.union([
      v.object({
        ...named,
        answer: v.string(),
        confidence: v.picklist(["high", "medium", "low"]),
        evidence: v.array(v.string()),
      }),
      v.object({ ...named, error: v.object({ code: v.string(), message: v.string(), retriable: v.boolean() }) }),
    ]),
  ),
  estimate: v.nullable(
    v.object({
      calls: v.number(),
      input_tokens: v.number(),
      output_tokens: v.number(),
      cost_usd: v.nullable(v.number()),
    }),
  ),
});

/** Words around the object in each request, tokens. */
const WORDS_TOKENS = 1000;

/** The highest cost of reading the objects, by the price list. @param price USD per million tokens; null: not known */
export function readingEstimate(
  objects: readonly Pick<FoundObject, "start" | "end">[],
  { inlineTokens, maxTokens, together = false }: Pick<ReadingOptions, "inlineTokens" | "maxTokens" | "together">,
  price: { readonly input: number; readonly output: number } | null,
): ReadingEstimate {
  let calls = 0;
  let input_tokens = 0;
  const sizes = objects.map(({ start, end }) => end - start);
  for (const size of together ? [sizes.reduce((sum, one) => sum + one, 0)] : sizes) {
    const tokens = Math.ceil(size / 4);
    const own = tokens > inlineTokens ? CHILD_TURNS : 1;
    calls += own;
    input_tokens += own * (tokens + WORDS_TOKENS);
  }
  const output_tokens = calls * maxTokens;
  const cost_usd = price && (input_tokens * price.input + output_tokens * price.output) / 1e6;
  return { calls, input_tokens, output_tokens, cost_usd };
}
