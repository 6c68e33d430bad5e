import { unreadSentence } from "../../context/index.ts";
import { amount, compact, priced } from "../../platform/figures.ts";
import { citedPlace } from "../../platform/visible.ts";
import type { Answer, Calls, Envelope, ShownArguments } from "./answer.ts";
import { budgetLeft } from "./summary.ts";
import { type Highlight, harmless, jsonText, oneLine, type Paint } from "./texts.ts";

/**
 * Lines of a block that are shown: what is longer is in the session, and a terminal is not a pager.
 */
const LINES_SHOWN = 400;

/** The request: the code of a cell or helper, a question, values for the memory. */
export function asked({ code, prompt, value, ops }: ShownArguments, highlight: Highlight, paint: Paint): string {
  const text = code ?? prompt ?? jsonText(value ?? ops);
  const plain = harmless(text.trimEnd());
  if (plain === "") return "";
  return block(prompt === undefined ? highlight(plain) : plain.split("\n"), paint);
}

/** The outcome: output, result, error, warnings, sub-calls, budget, as far as there are any. */
export function answered({ envelope, calls }: Answer, paint: Paint): string {
  const { stdout, stderr, warnings, traceback } = envelope;
  return [
    titled("output", plainLines(stdout, paint, "toolOutput"), paint),
    titled("errors", plainLines(stderr, paint, "warning"), paint),
    titled("result", resultLines(envelope, paint), paint),
    titled("places", placeLines(envelope, paint), paint),
    titled("not read", unreadLines(envelope, paint), paint),
    titled("traceback", envelope.success ? [] : plainLines(traceback, paint, "error"), paint),
    titled("warnings", plainLines(warnings.join("\n"), paint, "warning"), paint),
    titled(callsTitle(calls), callLines(calls, paint), paint),
    envelope.budget ? paint.fg("dim", `budget left  ${budgetLeft(envelope.budget)}`) : "",
  ]
    .filter((part) => part !== "")
    .join("\n");
}

/** Text that is not one of our envelopes. */
export function unread(text: string, paint: Paint): string {
  return block(plainLines(text, paint, "toolOutput"), paint);
}

function titled(title: string, lines: readonly string[], paint: Paint): string {
  return lines.length === 0 ? "" : `${paint.fg("muted", title)}\n${block(lines, paint)}`;
}

function block(lines: readonly string[], paint: Paint): string {
  const shown = lines.slice(0, LINES_SHOWN).map((line) => `  ${line}`);
  const more = lines.length - shown.length;
  return [...shown, ...(more > 0 ? [paint.fg("dim", `  … ${amount(more, "more line", "more lines")}`)] : [])].join(
    "\n",
  );
}

function plainLines(text: string, paint: Paint, colour: "toolOutput" | "warning" | "error"): string[] {
  const trimmed = text.trimEnd();
  if (trimmed === "") return [];
  return harmless(trimmed)
    .split("\n")
    .map((line) => paint.fg(colour, line));
}

/** Fields of envelopes that are results; those of cells first. */
const RESULTS = [
  "result_json",
  "result_meta",
  "answer",
  "confidence",
  "evidence",
  "sections",
  "stats",
  "helpers",
  "keys",
  "value",
  "results",
  "text",
];

function resultLines(envelope: Envelope, paint: Paint): string[] {
  const held = RESULTS.filter((field) => envelope[field] !== undefined && envelope[field] !== null);
  return held.flatMap((field) => {
    const value = envelope[field];
    const text = typeof value === "string" ? value : jsonText(value);
    const name = field === "result_json" || held.length === 1 ? "" : `${field}: `;
    return plainLines(`${name}${text}`, paint, "toolOutput");
  });
}

/**
 * `path:line` or `report.pdf p.12`, and the words there, for each place that an answer cites; one
 * that does not exist says so.
 */
function placeLines({ citations }: Envelope, paint: Paint): string[] {
  return citations.map(({ valid, quote, ...cited }) => {
    const place = valid ? harmless(citedPlace(cited)) : "not a place of P";
    return [paint.fg(valid ? "accent" : "warning", place), paint.fg("dim", oneLine(quote, 80))].join(" ").trimEnd();
  });
}

/** A line about files of the load that could not be read. */
function unreadLines({ skipped }: Envelope, paint: Paint): string[] {
  const sentence = skipped && unreadSentence(skipped);
  return sentence === null ? [] : plainLines(sentence, paint, "warning");
}

function callsTitle({ count, tokens, cost_usd }: Calls): string {
  return [amount(count, "sub-call"), `${compact(tokens)} tokens`, ...priced(cost_usd)].join(" · ");
}

function callLines({ count, items }: Calls, paint: Paint): string[] {
  const lines = items.map(({ prompt, success, tokens, cost_usd, cached }) => {
    const mark = success === null ? paint.fg("dim", "·") : success ? paint.fg("success", "✓") : paint.fg("error", "✗");
    const facts = cached ? "cached" : [`${compact(tokens)} tokens`, ...priced(cost_usd)].join(" · ");
    return `${mark} ${oneLine(prompt, 60)} ${paint.fg("dim", facts)}`;
  });
  return count > items.length ? [...lines, paint.fg("dim", `… ${count - items.length} more`)] : lines;
}
