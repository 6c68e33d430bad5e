import { DEFAULT_EXEC_LIMITS } from "../../../runtime/index.ts";
import { amount, compact, priced } from "../../figures.ts";
import type { AskEnvelope, Progress } from "../../index.ts";
import { showWarnings } from "./envelope.ts";
import type { Terminal } from "./terminal.ts";
import { showValue } from "./value.ts";
import { inFlags } from "./wording.ts";

export type TurnProgress = Extract<Progress, { kind: "turn" }>;

/** `turn 3 of 20 · 2 cells · 7 sub-calls · 18k tokens · $0.03` */
export function turnLine({ turn, of, cells, sub_calls, tokens, cost_usd }: TurnProgress): string {
  const parts = [
    `turn ${turn} of ${of}`,
    amount(cells, "cell"),
    amount(sub_calls, "sub-call"),
    `${compact(tokens)} tokens`,
  ];
  return [...parts, ...priced(cost_usd)].join(" · ");
}

/** What the model said in a turn, or the cell that it ran last and what came of it: for `--verbose`. */
export function turnText({ turn, phase, detail: { text, cells } }: TurnProgress): string {
  if (phase === "replied") return `--- turn ${turn}\n${text.trim() === "" ? "" : `${text.trim()}\n`}`;
  const last = cells.at(-1);
  return last ? `${indented(last.code)}\n${last.observation}\n` : "";
}

const indented = (code: string) => code.trimEnd().replaceAll(/^/gm, "  > ");

/** The answer on stdout; on stderr where it stands in P, warnings, and on a terminal what it took. */
export function showAsk(envelope: AskEnvelope, { stdout, stderr }: Terminal): void {
  if (envelope.success) {
    showValue(envelope.answer, stdout);
    for (const { valid, doc, line, quote } of envelope.citations) {
      const words = (quote ?? "").trim().replaceAll(/\s+/g, " ");
      if (valid) stderr.write(`${doc ?? "P"}:${line ?? 1} ${words.slice(0, QUOTE_UNITS)}\n`, "dim");
    }
  } else {
    stderr.write(`${envelope.error_code === "cancelled" ? "cancelled" : envelope.error_message}\n`, "red");
  }
  showWarnings(envelope.warnings, DEFAULT_EXEC_LIMITS, { stdout, stderr });
  if (!envelope.success) stderr.write(`suggestion: ${inFlags(envelope.suggestion)}\n`);
  if (stderr.isTerminal) stderr.write(`${tookLine(envelope)}\n`, "dim");
}

const QUOTE_UNITS = 120;

/** `4 turns · 5 cells · 12 sub-calls · 48k tokens · $0.021` */
function tookLine({ turns, cells, sub_calls, usage }: AskEnvelope): string {
  const tokens = usage.input + usage.output + usage.cache_read + usage.cache_write;
  const parts = [
    amount(turns, "turn"),
    amount(cells, "cell"),
    amount(sub_calls, "sub-call"),
    `${compact(tokens)} tokens`,
  ];
  return [...parts, ...priced(usage.cost_usd)].join(" · ");
}
