import type { CallEstimate, DryRun } from "../../index.ts";
import { amount, compact, dollars } from "../../platform/figures.ts";
import { heldBackText } from "../../session/index.ts";
import { showWarnings } from "./envelope.ts";
import { showError } from "./failure.ts";
import { table } from "./table.ts";
import type { Terminal } from "./terminal.ts";
import { inFlags } from "./wording.ts";

/** The estimate for people: a line for each place in the cell that makes sub-calls, then the sum of them. */
export function showDryRun({ envelope, estimate }: DryRun, terminal: Terminal): void {
  const { sites, partial, reused = 0 } = estimate;
  const rows = sites.map(({ site, ...of }) => [site, ...cellsOf(of)]);
  if (sites.length > 1) rows.push(["all", ...cellsOf(estimate)]);
  const answered = reused > 0 ? [`${amount(reused, "answer is", "answers are")} on record`] : [];
  if (rows.length === 0) terminal.stdout.write(`${["no sub-calls", ...answered].join(": ")}\n`);
  for (const line of table(rows, ["left", "left", "left", "left", "left"])) terminal.stdout.write(`${line}\n`);
  if (rows.length > 0) for (const line of answered) terminal.stdout.write(`${line}\n`);
  if (estimate.max_requests > estimate.sub_calls - estimate.children) {
    const most = `up to ${estimate.max_requests} requests`;
    terminal.stdout.write(`of first requests: with all turns of sub-agents and repairs there may be ${most}\n`);
  }
  if (estimate.held_back) terminal.stdout.write(`by batch ${inFlags(heldBackText(estimate.held_back))}\n`);
  if (estimate.children > 0) terminal.stdout.write(`${ofChildren(estimate)}\n`);
  if (partial) terminal.stdout.write("partial: the cell did not come to its end, so the real run may take more\n");
  showWarnings(envelope.warnings, envelope.limits_applied, terminal);
  if (!envelope.success) showError(envelope, null, terminal);
}

/** `not in these figures: 2 calls with a context of their own …` */
function ofChildren({ children, child_sub_calls }: CallEstimate): string {
  const calls = `${amount(children, "call")} with a context of ${children === 1 ? "its" : "their"} own`;
  return `not in these figures: ${calls}, with up to ${amount(child_sub_calls, "further sub-call")}; what they take depends on what their models find`;
}

/** `12 sub-calls`, `~34k tokens in`, `up to 49k out`, `up to ~$0.42`. */
function cellsOf({ sub_calls, children, input_tokens, max_output_tokens, cost_usd }: CallEstimate): string[] {
  if (sub_calls === children) return [amount(sub_calls, "sub-call"), "not known before", "", ""];
  return [
    amount(sub_calls, "sub-call"),
    `~${compact(input_tokens)} tokens in`,
    `up to ${compact(max_output_tokens)} out`,
    cost_usd > 0 ? `up to ~${dollars(cost_usd)}` : "price not known",
  ];
}
