import type { ExecState, Over } from "../../../runtime/index.ts";
import { amount } from "../../platform/figures.ts";
import { isRecord } from "../../platform/json.ts";
import { leftOfEach } from "../journal/budgets.ts";
import { repliesTold, toolsUnused } from "../journal/call-warnings.ts";
import type { ExecRecords } from "../journal/exec-records.ts";
import { IN_ALL, isScarcer, limitIn, limitsMetBy, limitWarning } from "../journal/limits-met.ts";
import { warn } from "./ends.ts";
import type { CellRequest } from "./request.ts";
import type { Work } from "./work.ts";

/** Facts of a cell that its budget decides. */
interface CellBudget {
  /** No model of the session was asked before it. */
  readonly isFirst: boolean;
  /** It was ended because the time of the budget had run out. */
  readonly isOut: boolean;
}

/** Adds the warnings about a cell's calls to the state of its exec, in the order in which envelopes list them. */
export async function warnOfCalls(
  work: Work,
  request: CellRequest,
  { state, end }: Over,
  { isFirst, isOut }: CellBudget,
): Promise<void> {
  const { answers } = work.setup;
  if (work.events.some(({ denied_tools }) => denied_tools.length > 0)) warn(state, "tool_override_denied");
  const { last } = work.recorder.state().account;
  const results = last?.results ?? [];
  for (const field of results.flatMap(({ as_text = [] }) => as_text)) warn(state, `number_as_text: ${field}`);
  for (const notice of repliesTold(results)) warn(state, notice);
  // An ask tells its caller, and not its model.
  if (request.kind === "query" || request.ask === undefined) {
    const models = results.map(({ model }) => model);
    for (const notice of answers.noticesOf?.(models, isFirst) ?? []) warn(state, notice);
    const failed = request.kind === "cell" && end.kind === "ok" && last ? failedInBatches(last) : null;
    if (failed !== null) warn(state, failed);
  }
  const unused = last && (await toolsUnused(last));
  if (unused) warn(state, unused);
  warnOfLimits(work, state, isOut);
}

/** Warns of the limits that calls of the exec met, and says which are those of the session in all. */
function warnOfLimits({ setup, recorder }: Work, state: ExecState, isOut: boolean): void {
  const { account } = recorder.state();
  const met = (account.last?.results ?? []).flatMap(limitsMetBy);
  for (const limit of isOut ? [...met, "time_ms" as const] : met) warn(state, limitWarning(limit));
  const { session, question } = leftOfEach(setup.rules, account);
  for (const [at, warning] of state.warnings.entries()) {
    const limit = limitIn(warning);
    if (limit && question && isScarcer(limit, session, question)) state.warnings[at] = `${warning}${IN_ALL}`;
  }
}

/** The warning for calls of batches that failed, since their errors stand among the answers. `null` if none did. */
function failedInBatches({ calls, results }: ExecRecords): string | null {
  const resultOf = new Map(results.map((result) => [result.call_id, result]));
  // In the order of the calls, which a resumed exec has too. Their answers may come in another one.
  const batched = calls.filter(({ args }) => args.length > 2);
  const answers = batched.flatMap(({ call_id }) => resultOf.get(call_id) ?? []);
  const [first, ...more] = answers.filter(({ success }) => !success);
  if (!first) return null;
  const message = isRecord(first.value) ? `: ${first.value.message}` : "";
  return `sub_calls_failed: ${more.length + 1} of ${amount(answers.length, "sub-call")} of a batch failed${message}`;
}
