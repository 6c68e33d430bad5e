import { DEFAULT_EXEC_LIMITS } from "../../../runtime/index.ts";
import type { AskEnvelope, Json, SessionEvent } from "../../index.ts";
import { tokensOf } from "../../models/index.ts";
import { amount, compact, duration, elapsed, priced } from "../../platform/figures.ts";
import { citedPlace, inLine } from "../../platform/visible.ts";
import { estimatedTokens, tokensText } from "./calls.ts";
import { showWarnings } from "./envelope.ts";
import type { Output, Terminal } from "./terminal.ts";
import { showValue } from "./value.ts";
import { inFlags } from "./wording.ts";

export type TurnProgress = Extract<SessionEvent, { kind: "turn" }>;

/**
 * `turn 3 of 20 · 2 cells · 7 sub-calls · 18k tokens · $0.03`; of a child `call 2, turn 3 of 10 ·
 * …`
 */
export function turnLine(progress: TurnProgress): string {
  const { turn, of, tokens, cost_usd } = progress;
  return madeLine(turn > of ? nameOf(progress) : `${nameOf(progress)} of ${of}`, progress, tokens, cost_usd);
}

/**
 * `turn 3: waiting for claude-haiku-4-5, 12 s · 2 cells · 7 sub-calls · 18k tokens · $0.03`; before
 * anything was done, its beginning.
 */
export function waitingLine(progress: TurnProgress, ms: number): string {
  const { model, tokens, cost_usd } = progress;
  const id = model.slice(model.indexOf("/") + 1);
  const waiting = `${nameOf(progress)}: waiting for ${id}, ${elapsed(ms)}`;
  return tokens === 0 ? waiting : madeLine(waiting, progress, tokens, cost_usd);
}

/** `turn 3 · 2 cells · 7 sub-calls · 18k tokens · $0.03` */
function madeLine(turns: string, made: Pick<AskEnvelope, "cells" | "sub_calls">, tokens: number, usd: number): string {
  const { cells, sub_calls } = made;
  const parts = [turns, amount(cells, "cell"), amount(sub_calls, "sub-call"), `${compact(tokens)} tokens`];
  return [...parts, ...priced(usd)].join(" · ");
}

/**
 * `turn 3  2 cells · 7 sub-calls · 18,412 tokens · $0.030`: what the ask had come to when the turn
 * had ended. Turns of children are indented.
 */
export function turnOverLine(progress: TurnProgress): string {
  const { depth, cells, sub_calls, tokens, cost_usd } = progress;
  const parts = [amount(cells, "cell"), amount(sub_calls, "sub-call"), amount(tokens, "token"), ...priced(cost_usd)];
  return `${INDENT.repeat(depth)}${nameOf(progress)}  ${parts.join(" · ")}`;
}

/** The model's text in a turn, or the cell that it ran last with its output: for `--verbose`. */
export function turnText(progress: TurnProgress): string {
  const { phase, depth, detail } = progress;
  const last = detail.cells.at(-1);
  const said = detail.text.trim() === "" ? "" : `${detail.text.trim()}\n`;
  const text = phase === "replied" ? `--- ${nameOf(progress)}\n${said}` : last ? cellText(last) : "";
  return text.replaceAll(/^(?=.)/gm, INDENT.repeat(depth));
}

/** The indent of each level of children. */
const INDENT = "  ";

/**
 * `turn 3`; of a child with the number of its call, since several may run at once: `call 2, turn
 * 3`.
 */
function nameOf({ turn, of, path }: TurnProgress): string {
  const call = path.at(-1);
  // The turn behind the last one asks for an answer without code.
  const name = turn > of ? "closing turn" : `turn ${turn}`;
  return call === undefined ? name : `call ${call.slice(call.lastIndexOf(".") + 1)}, ${name}`;
}

/** Every turn of an ask with its cells and what they showed, if the envelope has them. */
export function showTrajectory({ trajectory = [] }: AskEnvelope, output: Output): void {
  for (const { turn, text, error_code, usage, elapsed_ms, cells } of trajectory) {
    const took = [duration(elapsed_ms), tokensText(tokensOf(usage), usage), ...priced(usage.cost_usd)];
    output.write(`--- turn ${turn} (${took.join(" · ")})\n`, "dim");
    if (error_code !== null) output.write(`no reply that can be used: ${error_code}\n`, "red");
    if (text.trim() !== "") output.write(`${text.trim()}\n`);
    for (const cell of cells) {
      output.write(cellText(cell));
      if (cell.calls.length > 0) output.write(`(${callsText(cell.calls)})\n`, "dim");
    }
  }
}

type Calls = NonNullable<AskEnvelope["trajectory"]>[number]["cells"][number]["calls"];

/** `12 sub-calls of local/small, 2 children, 1 failed` */
function callsText(calls: Calls): string {
  const models = [...new Set(calls.map(({ model }) => model))].filter((model) => model !== "").slice(0, MODELS_SHOWN);
  const failed = calls.filter(({ status }) => status !== "ok").length;
  const children = calls.filter(({ child }) => child).length;
  const answered = children > 0 ? `, ${amount(children, "child", "children")}` : "";
  const of = models.length > 0 ? ` of ${models.join(", ")}` : "";
  return `${amount(calls.length, "sub-call")}${inLine(of)}${answered}${failed > 0 ? `, ${failed} failed` : ""}`;
}

const MODELS_SHOWN = 5;

const cellText = ({ code, observation }: { readonly code: string; readonly observation: string }) =>
  `${indented(code)}\n${observation}\n`;

const indented = (code: string) => code.trimEnd().replaceAll(/^/gm, "  > ");

/**
 * The answer on stdout; on stderr where it stands in P, warnings, and on a terminal what it took.
 */
export function showAsk(envelope: AskEnvelope, { stdout, stderr }: Terminal): void {
  if (envelope.success) {
    showValue(envelope.answer, stdout);
    for (const [at, cited] of envelope.citations.entries()) {
      const words = (cited.quote ?? "").trim().replaceAll(/\s+/g, " ");
      const number = hasNumber(envelope.answer, at + 1) ? `[${at + 1}] ` : "";
      if (cited.valid) stderr.write(`${number}${citedPlace(cited)} ${words.slice(0, QUOTE_UNITS)}\n`, "dim");
    }
  } else {
    const { error_code: code, error_message: message } = envelope;
    stderr.write(code === "cancelled" ? "cancelled\n" : `error: ${inLine(message)} (${code})\n`, "red");
  }
  showWarnings(envelope.warnings, DEFAULT_EXEC_LIMITS, { stdout, stderr });
  if (!envelope.success) stderr.line(`suggestion: ${inFlags(envelope.suggestion)}`);
  if (!stderr.isTerminal) return;
  const { turns, usage } = envelope;
  const made = madeLine(amount(turns, "turn"), envelope, tokensOf(usage), usage.cost_usd);
  stderr.write(`${[made, ...estimatedTokens(usage)].join(" · ")}\n`, "dim");
}

const QUOTE_UNITS = 120;

/** True if the model wrote the number of a citation into its answer, as `[1]` or `[1, 3]`. */
function hasNumber(answer: Json, number: number): boolean {
  if (typeof answer !== "string") return false;
  const lists = [...answer.matchAll(/\[([\d\s,;]{1,200})\]/g)];
  return lists.some(([, list = ""]) => list.split(/[,;]/).some((one) => one.trim() === String(number)));
}
