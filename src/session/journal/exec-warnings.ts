import * as v from "valibot";
import { LIMITS, remedy } from "../../../runtime/index.ts";
import { lossText, UNPLACED } from "../../context/index.ts";
import { type BudgetLimit, loadSubCallLayer } from "../../models/index.ts";
import { amount, thousands } from "../../platform/figures.ts";
import { isRecord } from "../../platform/json.ts";
import type { AskRecords, SessionState } from "./account.ts";
import type { ExecRecords } from "./exec-records.ts";
import type { RemainingBudget } from "./ledger.ts";
import type { AskLimit, ToolResult } from "./records.ts";

/** Warnings about the replies to calls. */
export function repliesTold(results: readonly Told[]): readonly string[] {
  const mended = results.flatMap((result) => (result.mended ? [result.mended] : []));
  const kinds = new Set(mended.flat());
  const ignored = results.flatMap(({ ignored: names = [], model }) => names.map((name) => `${name} by ${model}`));
  return [
    ...(mended.length === 0 ? [] : [`replies_mended: ${mended.length} (${[...kinds].join(", ")})`]),
    ...(ignored.length === 0 ? [] : [`parameters_ignored: ${[...new Set(ignored)].join(", ")}`]),
  ];
}

type Told = Partial<Pick<ToolResult, "mended" | "ignored" | "model">>;

/** The kinds of mending that these warnings name; undefined: they name none. */
export function mendedBy(warnings: readonly string[]): readonly string[] | undefined {
  for (const warning of warnings) {
    const [, kinds] = /^replies_mended: \d{1,9} \(([^)]*)/.exec(warning) ?? [];
    if (kinds !== undefined) return kinds.split(", ");
  }
  return undefined;
}

/** Fewer calls that need no tools cost little. */
const LEAST_CALLS = 10;
const TOOLS_UNUSED = "tools_unused";

/**
 * The warning for an exec whose calls named no tools, so that they had those that read files, and used none. Tools are a part of every
 * request. null: it had fewer such calls, or one has used a tool.
 */
export async function toolsUnused({ calls, results }: Pick<ExecRecords, "calls" | "results">): Promise<string | null> {
  const named = new Set(calls.filter(({ args: [, options] }) => namesTools(options)).map(({ call_id }) => call_id));
  // Only a call with tools has turns and named none.
  const turns = results.flatMap(({ call_id, turns: taken }) => (taken && !named.has(call_id) ? [taken] : []));
  if (turns.length < LEAST_CALLS || turns.flat().some(({ tools }) => tools.length > 0)) return null;
  const { tokensOfTools } = await loadSubCallLayer();
  const tokens = tokensOfTools(LIMITS.subAgentTurns) * turns.flat().length;
  const saved = `with tools: [] they take about ${tokens.toLocaleString("en")} tokens less`;
  return `${TOOLS_UNUSED}: ${turns.length} sub-calls had tools that read files, and used none; ${saved}`;
}

const namesTools = (options: unknown) => isRecord(options) && options.tools !== undefined;

/** The warnings of this kind that execs have recorded. */
export const toolsUnusedIn = (execs: readonly Pick<ExecRecords, "complete">[]): readonly string[] =>
  execs.flatMap(({ complete }) =>
    (complete?.state?.warnings ?? []).filter((warning) => warning.startsWith(TOOLS_UNUSED)),
  );

/** The warning of an exec in which a limit of the budget was met. Builtins write the same. */
export const limitWarning = (limit: AskLimit): string => `limit_met: ${limit}`;

/** Follows the name of a limit that is one of the session in all, and not of its question. */
export const IN_ALL = ` of the session; ${remedy("renewSession")}`;

/** The limit that a warning of an exec names; null: it is another warning. */
export function limitIn(warning: string): BudgetLimit | null {
  const [, name] = /^limit_met: (\w+)/.exec(warning) ?? [];
  return BUDGET_LIMITS.find((limit) => limit === name) ?? null;
}

const BUDGET_LIMITS = ["tokens", "sub_calls", "time_ms", "cost_usd", "functions"] as const;

/** The limits that an ask can meet. */
export const ASK_LIMITS = [...BUDGET_LIMITS, "turns"] as const;

/** The limits that a call met, and those of the tree that its child met. */
export function limitsMetBy({ limit_met, child }: Pick<ToolResult, "limit_met" | "child">): readonly AskLimit[] {
  return [...(limit_met === undefined ? [] : [limit_met]), ...(child?.limits_met ?? [])];
}

/** True if the session in all has less left than its question. */
export function isScarcer(limit: BudgetLimit, session: RemainingBudget, question: RemainingBudget): boolean {
  const key = `remaining_${limit}` as const;
  return (session[key] ?? Number.POSITIVE_INFINITY) < (question[key] ?? Number.POSITIVE_INFINITY);
}

/** The limits that an ask has met so far, each once, by the records of its turns and cells. */
export function limitsMetIn({ execs }: Pick<AskRecords, "execs">): readonly AskLimit[] {
  const ofCalls = execs.flatMap(({ results }) => results.flatMap(limitsMetBy));
  const ofTurns = execs.flatMap(({ start }) => (start.kind === "turn" ? v.parse(Turn, start.input).limits : []));
  const ofCells = execs.flatMap(({ complete }) => (complete?.state?.warnings ?? []).map(limitIn));
  return [...new Set([...ofCalls, ...ofTurns, ...ofCells.filter((limit) => limit !== null)])];
}

/** Another user may have written the store: what cannot be read is no limit. */
const Turn = v.fallback(v.object({ limits: v.array(v.picklist(ASK_LIMITS)) }), { limits: [] });

/** Warnings about what the newest loads left out, until an envelope has had them. */
export function loadWarnings({ account, context }: SessionState): readonly string[] {
  if (!account.untold || !context) return [];
  const { converted, skipped } = context.stats;
  const { [UNPLACED]: unplaced = 0, ...lost } = converted?.lost ?? {};
  const losses = Object.entries(lost).map(([kind, count]) => lossText(kind, count));
  const lossy = amount(converted?.lossy ?? 0, "document");
  const reasons = Object.entries(skipped.reasons ?? {}).map(([reason, count]) => `${thousands(count)} ${reason}`);
  const why = reasons.length > 0 ? ` (${reasons.join(", ")})` : "";
  return [
    ...(losses.length > 0 ? [`documents_lost: ${lossy}, ${losses.join(", ")}; stats().converted`] : []),
    ...(unplaced > 0 ? [`places_capped: ${thousands(unplaced)}`] : []),
    ...(skipped.count > 0 ? [`files_skipped: ${amount(skipped.count, "file")}${why}`] : []),
  ];
}

/** The warning for answers by hand that no call of an exec that ran again has asked for. `null` if all were used. */
export function answersUnused({ start: { again }, results }: ExecRecords): string | null {
  const given = again?.answers.length ?? 0;
  const used = results.filter(({ by_hand }) => by_hand).length;
  if (used >= given) return null;
  return `answers_unused: ${given - used} of ${amount(given, "answer")} by hand had no use: no call asked the same again`;
}

/** The warning for calls of batches that failed, since their errors stand among the answers. `null` if none did. */
export function failedInBatches({ calls, results }: ExecRecords): string | null {
  const resultOf = new Map(results.map((result) => [result.call_id, result]));
  // In the order of the calls, which a resumed exec has too. Their answers may come in another one.
  const batched = calls.filter(({ args }) => args.length > 2);
  const answers = batched.flatMap(({ call_id }) => resultOf.get(call_id) ?? []);
  const [first, ...more] = answers.filter(({ success }) => !success);
  if (!first) return null;
  const message = isRecord(first.value) ? `: ${first.value.message}` : "";
  return `sub_calls_failed: ${more.length + 1} of ${amount(answers.length, "sub-call")} of llm_query_batch failed${message}`;
}
