import { readFileSync } from "node:fs";
import * as v from "valibot";
import type { Json } from "../../runtime/index.ts";
import { type ErrorCode, isErrorCode, RlmError, remedy } from "../../runtime/index.ts";

export const SEARCH_STRATEGIES = ["regex", "bm25", "routing", "auto"] as const;
export type SearchStrategy = (typeof SEARCH_STRATEGIES)[number];

/** Options of the search for relevant parts, and the number of parts that are read (default 10, at most 50). */
export interface QueryOptions {
  readonly maxSections?: number;
  readonly searchStrategy?: SearchStrategy;
}

const DEFAULT_SECTIONS = 10;
const MAX_SECTIONS = 50;
/** Builtins that choose the sections. */
const BUILTINS = "{ peek, find, search, find_routes, list_docs, doc_at, stats }";

/** The remedies that a failed query suggests. The library, the command and Pi each have words for them. */
const CURES = {
  moreSections: remedy("moreSections"),
  fewerSections: remedy("fewerSections"),
  moreSubCalls: remedy("moreSubCalls"),
};

let files: { readonly sections: string; readonly query: string } | undefined;

/** The cell that answers a question. @throws RlmError `invalid_argument` */
export function queryCell(
  prompt: string,
  { maxSections = DEFAULT_SECTIONS, searchStrategy = "auto" }: QueryOptions,
): string {
  const refuse = (what: string, suggestion: string) => new RlmError("invalid_argument", what, { suggestion });
  if (prompt.trim() === "") throw refuse("the question is empty", "Ask something.");
  if (!(Number.isInteger(maxSections) && maxSections > 0)) {
    throw refuse(`maxSections is ${maxSections}`, `Pass a whole number from 1 to ${MAX_SECTIONS}.`);
  }
  if (!SEARCH_STRATEGIES.includes(searchStrategy)) {
    throw refuse(`searchStrategy is ${searchStrategy}`, `Pass one of ${SEARCH_STRATEGIES.join(", ")}.`);
  }
  const read = (name: string) => readFileSync(new URL(name, import.meta.url), "utf8").trimEnd();
  files ??= { sections: read("./sections.guest.js").replace(/;$/, ""), query: read("./query.guest.js") };
  const input = { prompt, max_sections: Math.min(maxSections, MAX_SECTIONS), strategy: searchStrategy, cures: CURES };
  const given = `const QUERY = ${JSON.stringify(input)};`;
  return `${given}\nconst SECTIONS = ${files.sections}(${BUILTINS});\n${files.query}\n`;
}

const Note = v.object({ source: v.string(), note: v.string() });

export interface QueryNote {
  readonly source: string;
  readonly note: string;
}

/** The cell's own end, read leniently: cells of earlier builds gave fewer fields. */
const Result = v.object({
  answer: v.fallback(v.nullable(v.string()), null),
  sections: v.fallback(v.array(v.string()), []),
  strategy: v.fallback(v.nullable(v.string()), null),
  failed: v.fallback(v.number(), 0),
  notes: v.fallback(v.array(Note), []),
  warnings: v.fallback(v.array(v.string()), []),
  error: v.fallback(
    v.nullable(v.object({ code: v.string(), name: v.string(), message: v.string(), suggestion: v.string() })),
    null,
  ),
});

/** The cell's result. */
export interface QueryResult {
  /** null if there is none. */
  readonly answer: string | null;
  /** The source of each section that was read. */
  readonly sections: readonly string[];
  readonly strategy: string | null;
  /** Sections whose sub-call failed. */
  readonly failed: number;
  /** Notes on sections that help. */
  readonly notes: readonly QueryNote[];
  /** Each begins with its code. */
  readonly warnings: readonly string[];
  /** Why there is no answer. */
  readonly error: QueryError | null;
}

export interface QueryError {
  readonly code: ErrorCode;
  readonly name: string;
  readonly message: string;
  readonly suggestion: string;
}

/** The cell's result; a cell that gave none has an empty one. */
export function readQueryResult(result: Json): QueryResult {
  const { error, ...read } = v.parse(Result, typeof result === "object" && result !== null ? result : {});
  return { ...read, error: error && { ...error, code: isErrorCode(error.code) ? error.code : "sub_agent_error" } };
}
