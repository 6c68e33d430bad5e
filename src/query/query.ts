import { readFileSync } from "node:fs";
import type { Json } from "../../runtime/index.ts";
import { RlmError } from "../../runtime/index.ts";

export const SEARCH_STRATEGIES = ["regex", "bm25", "routing", "auto"] as const;
export type SearchStrategy = (typeof SEARCH_STRATEGIES)[number];

/** Of a query: how relevant parts are found, and how many of them are read at the most (10 by default, at most 50). */
export interface QueryOptions {
  readonly maxSections?: number;
  readonly searchStrategy?: SearchStrategy;
}

const DEFAULT_SECTIONS = 10;
const MAX_SECTIONS = 50;

let cell: string | undefined;

/** The cell that answers a question. @throws RlmError `invalid_argument` */
export function queryCell(
  prompt: string,
  { maxSections = DEFAULT_SECTIONS, searchStrategy = "auto" }: QueryOptions,
): string {
  const refuse = (what: string, suggestion: string) => new RlmError("invalid_argument", what, { suggestion });
  if (prompt.trim() === "") throw refuse("the question is empty", "Ask something.");
  if (!(Number.isInteger(maxSections) && maxSections > 0)) {
    throw refuse(`max_sections is ${maxSections}`, `Pass a whole number from 1 to ${MAX_SECTIONS}.`);
  }
  if (!SEARCH_STRATEGIES.includes(searchStrategy)) {
    throw refuse(`search_strategy is ${searchStrategy}`, `Pass one of ${SEARCH_STRATEGIES.join(", ")}.`);
  }
  cell ??= readFileSync(new URL("./query.guest.js", import.meta.url), "utf8");
  const input = { prompt, max_sections: Math.min(maxSections, MAX_SECTIONS), strategy: searchStrategy };
  return `const QUERY = ${JSON.stringify(input)};\n${cell}`;
}

/** What the cell gives. */
export interface QueryResult {
  readonly answer: string;
  /** `path:start-end` of each section that was read. */
  readonly sections: readonly string[];
  readonly strategy: string;
  /** Sections whose sub-call failed. */
  readonly failed: number;
}

export function readQueryResult(result: Json): QueryResult {
  const fields: Readonly<Record<string, unknown>> = typeof result === "object" && result !== null ? { ...result } : {};
  const { answer, sections, strategy, failed } = fields;
  return {
    answer: typeof answer === "string" ? answer : "",
    sections: Array.isArray(sections) ? sections.map(String) : [],
    strategy: String(strategy),
    failed: typeof failed === "number" ? failed : 0,
  };
}
