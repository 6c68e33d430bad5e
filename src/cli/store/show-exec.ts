import { type AskDescription, callsSeen, type TurnDescription } from "../../history/index.ts";
import {
  type CallDescription,
  type ExecDescription,
  type Json,
  RlmError,
  type SessionDescription,
} from "../../index.ts";
import { ago, amount, compact, duration, priced } from "../../platform/figures.ts";
import { displayName, idEnd } from "../../platform/ids.ts";
import { typedName } from "../../platform/shell-word.ts";
import { inLine } from "../../platform/visible.ts";
import { limitName } from "../../session/index.ts";
import type { ShowFlags } from "../commands/show.ts";
import { commandLine } from "../flags/usage.ts";
import { tokenRemarks } from "../render/calls.ts";
import { table } from "../render/table.ts";
import type { Output, Style } from "../render/terminal.ts";
import { showValue } from "../render/value.ts";
import { type Page, resumeLine, showCalls, showChild, showLine } from "./exec-tree.ts";

/** The exec or call that is shown whole. */
export type Detail = { readonly exec: ExecDescription } | CallDetail;
type CallDetail = { readonly exec: ExecDescription; readonly call: CallDescription };

/**
 * The exec or call that --exec, --last and --call name; null: the session.
 *
 * @throws RlmError `invalid_argument` for one that there is not
 */
export function detailOf(
  { exec: number, call, last }: ShowFlags,
  session: SessionDescription,
  page: Page,
): Detail | null {
  if (number === undefined && call === undefined && !last) return null;
  const { execs } = session;
  const label = displayName(session);
  const latest = call === undefined || last ? execs.at(-1) : execs.findLast(({ calls }) => calls.length > 0);
  const exec = number === undefined ? latest : execs[number - 1];
  const missing = (what: string) =>
    new RlmError("invalid_argument", what, { suggestion: `\`${showLine(session, page)}\` lists what there is.` });
  if (!exec && number === undefined) throw missing(`${label} has no ${call === undefined ? "execs" : "calls"} yet`);
  if (!exec) throw missing(`${label} has no exec ${number}: it has ${amount(execs.length, "exec")}`);
  if (call === undefined) return { exec };
  const named = exec.calls[call - 1];
  if (named) return { exec, call: named };
  throw missing(`exec ${exec.number} of ${label} has no call ${call}: it has ${amount(exec.calls.length, "call")}`);
}

/** An exec whole: what was run, what it printed, its calls in a line each, its result or error. */
export function showExec(exec: ExecDescription, session: SessionDescription, page: Page, output: Output): void {
  const { now, flags } = page;
  const { kind, number, began_at, time_ms, resumed, tokens, cost_usd, file, source, stdout, stderr, ask, turn } = exec;
  const calls = callsSeen(exec);
  heading(`exec ${number} of ${displayName(session)} (${kind})`, exec.error_code ?? exec.status, output);
  const again = resumed > 0 ? `, resumed ${resumed === 1 ? "once" : `${resumed} times`}` : "";
  output.write(`begun     ${ago(now - began_at)}${again}\n`);
  const made = calls.length > 0 ? [amount(calls.length, "call")] : [];
  const spent = calls.length > 0 || tokens > 0 ? [`${compact(tokens)} tokens`, ...priced(cost_usd)] : [];
  const cached = tokenRemarks(exec.calls);
  const took = [...(time_ms === null ? ["not over"] : [duration(time_ms)]), ...made, ...spent, ...cached];
  output.write(`took      ${took.join(" · ")}\n`);
  if (ask) showAskOf(ask, exec.status, output);
  else if (turn) showTurnOf(turn, output);
  else section(`asked${file === null ? "" : ` (${file})`}`, source, output);
  if (stdout) section("printed", stdout, output);
  if (stderr) section("printed on stderr", stderr, output);
  if (calls.length > 0) {
    title("calls", output);
    showCalls(exec, session, page, output);
    const one = showLine(session, page, "--exec", String(number), "--call", "N");
    output.write(`one of them whole: ${one}\n`, "dim");
  }
  if (exec.warnings.length > 0) section("warnings", exec.warnings.join("\n"), output, "yellow");
  if (exec.status === "ok" && kind === "cell") section("result", exec.result_json, output);
  if (exec.error !== null) section("error", exec.error, output, "red");
  if (exec.checkpoint_id !== null) {
    const fork = commandLine(["fork", `${typedName(session)}@${idEnd(exec.checkpoint_id)}`, ...flags]);
    output.write(`\ngo on from here: ${fork}\n`, "dim");
  }
  if (exec.status === "unfinished") output.write(`\nunfinished: ${resumeLine(session, page)}\n`, "yellow");
}

function showAskOf(ask: AskDescription, status: ExecDescription["status"], output: Output): void {
  section("asked", ask.question, output);
  section("settings", ask.settings, output);
  if (status === "ok") section(`answer (by ${ask.answered_by ?? "?"})`, ask.answer, output);
  if (ask.citations.length > 0) section("cites", ask.citations, output);
  if (ask.limits_met.length > 0) section("limits met", ask.limits_met.map(limitName).join(", "), output, "yellow");
  if (ask.warnings.length > 0) section("warnings", ask.warnings.join("\n"), output, "yellow");
}

function showTurnOf({ messages, text, closing }: TurnDescription, output: Output): void {
  section("added to the conversation", messages.join("\n"), output);
  if (text.trim() !== "") section(`said${closing ? " (no code is run any more)" : ""}`, text, output);
}

/** A call whole: what was asked, with which options, and what was answered. */
export function showCall({ exec, call }: CallDetail, session: SessionDescription, page: Page, output: Output): void {
  const { number, name, model, status, error_code, time_ms, tokens, cost_usd } = call;
  const { cached, refused, attempts, resent, delivery, mended } = call;
  heading(
    `call ${number} of exec ${exec.number} of ${displayName(session)}`,
    error_code ?? (status === "pending" ? "unanswered" : status),
    output,
  );
  output.line(`asked by  ${name}${model ? `, of ${model}` : ""}`);
  const took = [
    ...(time_ms === null ? [unansweredText(call)] : [duration(time_ms), `${compact(tokens)} tokens`]),
    ...priced(cost_usd),
    ...tokenRemarks([call]),
    ...(cached ? ["from the cache"] : []),
    ...(refused ? ["refused: nothing was sent"] : []),
    ...(attempts > 0 ? [`sent ${attempts + 1} times`] : []),
    ...(resent > 0 ? ["sent again by a resume"] : []),
    ...(delivery ? [`by provider batch ${delivery.batch}`] : []),
    ...(mended.length > 0 ? [`mended: ${mended.join(", ")}`] : []),
    ...waitOf(call),
  ];
  output.write(`took      ${took.join(" · ")}\n`);
  for (const tree of call.worktrees) output.line(`changes   in ${tree}`);
  const [prompt = null, options = null] = call.args;
  // A root model is asked with the conversation so far: its turns and their cells.
  if (prompt !== null) section("asked", prompt, output);
  if (options !== null && JSON.stringify(options) !== "{}") section("options", options, output);
  if (call.sampling !== null) section("parameters of the session", JSON.stringify(call.sampling), output);
  if (call.ignored.length > 0) section("not taken by the model", call.ignored.join(", "), output, "yellow");
  if (call.turns) showTurns(call.turns, output);
  if (call.child) {
    title("answered by a child", output);
    showChild({ exec, call }, session, page, output);
  }
  if (call.misfit !== null) section("the answer that did not fit the schema", call.misfit, output);
  if (status !== "pending") section(status === "ok" ? "answer" : "error", call.answer, output);
}

/** Words for a call without an answer. Nothing tells whether a model was asked once at all. */
function unansweredText({ agent, child, delivery, resent }: CallDescription): string {
  const isKnown = agent !== null || child || delivery || resent > 0;
  return `no answer is recorded${isKnown ? "" : ": it may have been sent, and billed"}`;
}

const LEAST_WAIT_MS = 100;

/**
 * The time that the call waited, such as for a place, before its first request left, if
 * that is known and long enough.
 */
function waitOf({ asked_at, sent_at, resent, delivery }: CallDescription): string[] {
  const waited = sent_at === null || resent > 0 || delivery ? 0 : sent_at - asked_at;
  return waited < LEAST_WAIT_MS ? [] : [`waited ${duration(waited)} to be sent`];
}

/** The turns of a sub-agent: `1  1.2 s  340 tokens  grep, read_file`. */
function showTurns(turns: NonNullable<CallDescription["turns"]>, output: Output): void {
  title("turns", output);
  const rows = turns.map(({ ms, input, output: said, cost_usd, tools }, at) => [
    `  ${at + 1}`,
    duration(ms),
    [`${compact(input + said)} tokens`, ...priced(cost_usd)].join(" "),
    tools.length === 0 ? "answered" : tools.join(", "),
  ]);
  for (const line of table(rows, ["right", "right", "right", "left"], output)) output.write(`${line}\n`);
}

function heading(text: string, status: string, output: Output): void {
  output.write(text, "bold");
  output.write(`  ${status}\n`);
}

function title(text: string, output: Output): void {
  output.write(`\n${inLine(text)}\n`, "dim");
}

/** A value under its title. */
function section(name: string, value: Json, output: Output, style?: Style): void {
  title(name, output);
  if (typeof value === "string") output.write(value.endsWith("\n") ? value : `${value}\n`, style);
  else showValue(value, output);
}
