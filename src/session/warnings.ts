import { type ExecLimits, LIMITS } from "../../runtime/index.ts";
import { amount } from "../platform/figures.ts";

/** Cures for warnings, in the words of the command or of Pi. Each is a clause. */
export interface WarningCures {
  readonly moreMatches: string;
  readonly moreOutput: string;
  /** The result is left out since it is too large. */
  readonly largeResult: string;
  readonly moreSubCalls: string;
  readonly removeHelper: string;
  readonly otherModel: string;
  /** @param limit of the budget, such as `sub_calls` */
  raiseLimit(limit: string): string;
}

interface Situation {
  /** The text of the warning after its code. */
  readonly detail: string;
  /** The limits that held, as far as they are known. */
  readonly limits: Partial<ExecLimits>;
  readonly cures: WarningCures;
}

const SENTENCES: Readonly<Record<string, (situation: Situation) => string>> = {
  find_results_capped: ({ limits: { max_find_results: most }, cures }) =>
    `find stopped at ${most === undefined ? "its limit" : amount(most, "match", "matches")}; ${cures.moreMatches}`,
  search_index_unfinished: ({ detail }) =>
    `the time ran out while the search index was built: ${detail}; the next search continues`,
  output_truncated: ({ detail, cures }) => `the cell printed ${exceeding(detail, "is shown")}; ${cures.moreOutput}`,
  result_too_large: (situation) => tooLarge(situation),
  result_not_serializable: ({ detail }) => `JSON cannot hold ${detail}: it is null in the result`,
  tool_override_denied: () => "a sub-call asked for tools that are not allowed, and was not sent",
  model_chosen: ({ detail, cures }) => `no model was named, so ${detail} was asked; ${cures.otherModel}`,
  model_unlisted: ({ detail }) => `no list has ${detail}: its price and window are not known`,
  model_ends: ({ detail, cures }) => `${detail}; ${cures.otherModel}`,
  batch_price_unknown: ({ detail }) =>
    `no lower price by provider batch is known for ${detail}: its calls count in full`,
  unawaited_sub_calls: ({ detail }) =>
    `${amount(Number(detail), "sub-call")} ended with the cell before an answer came; await every call`,
  unawaited_value_in_prompt: () => 'a prompt has "[object Promise]" in it: a value was not awaited',
  typescript_stripped: ({ detail }) =>
    `${detail || "the cell"} is TypeScript: its types were left out, and nothing checked them`,
  unhandled_rejection: ({ detail }) => `a promise failed, and nothing handled it: ${detail}`,
  state_restored: ({ detail }) =>
    `what the cell left could not be kept; variables are those of ${detail.replace(/, after 0 of 0 .*/, "")}`,
  helper_set_aside: ({ detail, cures }) =>
    `a helper failed and is left out until it is added again, or ${cures.removeHelper}: ${detail}`,
  number_as_text: ({ detail }) => `${detail}: JavaScript would round the number, so it is a text of its digits`,
  number_rounded: ({ detail }) =>
    `JavaScript may have rounded ${detail}, as it does whole numbers beyond 2^53: take the digits of an id as a string`,
  builtin_shadowed: ({ detail }) =>
    detail === "builtins"
      ? "builtins is from here on what the cell declared, and no longer names the builtins"
      : `${detail} is from here on what the cell declared; builtins.${detail} is still the builtin`,
  answered_without_looking: () => "the model answered without a look at the context",
  turns_spent: ({ detail }) =>
    detail === ""
      ? "the model had no turns left, and answered from what it had seen"
      : `${detail}, so the model answered from what it had seen`,
  limit_met: ({ detail, cures }) => limitMet(detail, cures),
  citation_invalid: ({ detail }) =>
    `${amount(Number(detail), "citation")} named no place of the context, or words that do not stand there`,
  citations_unlisted: ({ detail }) => `the answer names the citations ${detail}, which it does not give`,
  citations_capped: ({ detail }) => `${detail} citations were given, and the first 50 are listed`,
  documents_lost: ({ detail }) => `not all of the documents is in the text: ${detail}`,
  places_capped: ({ detail }) => `${detail} pages, cells and the like have no label: they lie behind the first 100,000`,
  files_skipped: ({ detail }) => `the load left files out: ${detail}`,
  history_elided: () => "the conversation was too long, so the output of its oldest cells was left out of it",
  parameters_ignored: ({ detail }) => `a model does not take a parameter, and was asked without it: ${detail}`,
  replies_mended: ({ detail }) => `small faults in replies of models were mended: ${detail}`,
  calls_in_text: ({ detail }) =>
    `the server did not read the model's calls, so ${amount(Number(detail), "cell")} came from its text`,
  answer_unsure: ({ detail }) => `the text may not be meant as the answer: ${detail}`,
  protocol_fence: () => "the provider refused tools, so the model wrote its cells in fenced blocks",
  sections_clamped: ({ detail, cures }) => `${detail}; ${cures.moreSubCalls}`,
  sections_failed: ({ detail }) => `${amount(Number(detail), "section")} could not be read: the sub-call failed`,
};

/** Warnings whose detail is a sentence already. */
const TOLD = [
  "tools_unused",
  "list_docs_capped",
  "variables_lost",
  "query_sampled",
  "query_words",
  "query_sources_unread",
  "sub_calls_failed",
  "answers_unused",
  "agents_unanswered",
];

/** The code of a warning, and what follows it. */
export function partsOfWarning(warning: string): { readonly code: string; readonly detail: string } {
  const [, code = warning, detail = ""] = /^(\w+)(?:: (.*))?$/s.exec(warning) ?? [];
  return { code, detail };
}

/** A warning without its code, as a sentence with what can be done about it; null for one that is not known here. */
export function warningSentence(warning: string, limits: Partial<ExecLimits>, cures: WarningCures): string | null {
  const { code, detail } = partsOfWarning(warning);
  if (TOLD.includes(code)) return detail;
  return Object.hasOwn(SENTENCES, code) ? (SENTENCES[code]?.({ detail, limits, cures }) ?? null) : null;
}

/** @param detail `sub_calls`; `sub_calls of the session; …`, with the cure, if it is a limit of the session in all */
function limitMet(detail: string, { raiseLimit }: WarningCures): string {
  const [, limit = "", ofSession] = /^(\w+)(?: of the session; (.*))?$/s.exec(detail) ?? [];
  const whose = ofSession === undefined ? "of its budget" : "that the session has in all";
  return `the ${limitName(limit)} ${whose} did not suffice, so not all was asked; ${ofSession ?? raiseLimit(limit)}`;
}

/** The name of a limit in sentences. */
export const limitName = (limit: string): string => LIMIT_NAMES[limit] ?? limit;

const LIMIT_NAMES: Readonly<Record<string, string>> = {
  sub_calls: "sub-calls",
  tokens: "tokens",
  time_ms: "time",
  cost_usd: "dollars",
  functions: "calls of functions",
  turns: "turns",
};

/** `2 MB, and 100 KB of it is shown` of `2 MB > 100 KB`. */
function exceeding(detail: string, fate: string): string {
  const [has, limit] = detail.split(" > ");
  return limit === undefined ? `more than ${fate}` : `${has}, and ${limit} of it ${fate}`;
}

function tooLarge({ detail, cures }: Situation): string {
  const [has = detail, limit] = detail.split(" > ");
  const most = `${LIMITS.wholeResultBytes / 2 ** 20} MB`;
  if (limit === most) return `the result has ${has}, and ${most} is the most that can be written; return less`;
  const over = limit === undefined ? "" : `, and the limit is ${limit}`;
  return `the result has ${has}${over}, so it is left out; ${cures.largeResult}`;
}
