import { compact, duration, priced } from "../figures.ts";
import type { CallDescription } from "../index.ts";
import { type Column, table } from "./table.ts";
import type { Output } from "./terminal.ts";

/** A line for each call, with the first words of its prompt. */
export function showCalls(calls: readonly CallDescription[], most: number, margin: string, output: Output): void {
  const digits = String(Math.min(most, calls.length)).length;
  const rows = calls
    .slice(0, most)
    .map((call) => [
      margin + String(call.number).padStart(digits),
      call.refused ? "refused" : call.cached ? "cached" : (call.error_code ?? call.status),
      call.model || "-",
      call.time_ms === null ? "-" : duration(call.time_ms),
      [`${compact(call.tokens)} tokens`, ...priced(call.cost_usd)].join(" "),
      [...sentAgain(call), firstWords(call.prompt ?? call.name)].join(" "),
    ]);
  for (const line of table(rows, COLUMNS, output)) output.write(`${line}\n`, "dim");
}

const COLUMNS: readonly Column[] = [
  "left",
  "left",
  { align: "left", drop: 3 },
  { align: "right", drop: 4 },
  { align: "right", drop: 1 },
  "left",
];

function sentAgain({ attempts, resent }: CallDescription): string[] {
  const sent = 1 + attempts + resent;
  return sent > 1 ? [`(sent ${sent}x)`] : [];
}

const WORDS_UNITS = 60;

function firstWords(prompt: string): string {
  const line = prompt
    .slice(0, WORDS_UNITS * 4)
    .trim()
    .replaceAll(/\s+/g, " ");
  return line.length > WORDS_UNITS ? `${line.slice(0, WORDS_UNITS)}…` : line;
}
