import { open } from "node:fs/promises";
import { resolve } from "node:path";
import { type Json, RlmError } from "../../index.ts";
import { amount } from "../../platform/figures.ts";
import {
  checkResultFile,
  chunks,
  openSpecial,
  outputFailed,
  targetOf,
  writeResultFile,
} from "../../platform/result-file.ts";
import { visible } from "../../platform/visible.ts";
import { type FinalJobs, openResultLines, type ResultsAsked, tableLines, tableRows } from "../../runs/index.ts";
import type { Given } from "../flags/arguments.ts";
import { type Format, formatOf, type OUT } from "../flags/runs.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import { dataTable } from "../render/data-table.ts";
import { type Output, writePieces } from "../render/terminal.ts";

/** The place to which the results of a run are written while it continues. */
export interface Results {
  /** Writes the lines of jobs that have ended since. */
  follow(): Promise<void>;
  /** The error that keeps the file from being whole, or null. */
  readonly problem: RlmError | null;
  /** A sentence about cells of a table that got a `'`, or null. */
  readonly note: string | null;
  close(): Promise<void>;
}

/** @throws RlmError `output_failed` */
export async function openResults(out: OutPlace, asked: ResultsAsked, stdout: Output): Promise<Results> {
  if (out.kind === "none") return { follow: async () => {}, problem: null, note: null, close: async () => {} };
  if (out.format !== "jsonl") return openTable(out, asked, stdout);
  return out.kind === "file" ? openResultFile(out.path, asked) : printed(asked, stdout);
}

async function printed(asked: ResultsAsked, stdout: Output): Promise<Results> {
  const lines = openResultLines(asked);
  let before = Promise.resolve();
  const print = () => writePieces(stdout, lines.next());
  const follow = () => {
    before = before.then(print);
    return before;
  };
  await follow();
  return { follow, problem: null, note: null, close: () => before };
}

/** The place of the results: nowhere, to stdout, or to a file (absolute, and as it was typed). */
export type OutPlace =
  | { readonly kind: "none" }
  | ({ readonly kind: "stdout" } & ResultForm)
  | ({ readonly kind: "file"; readonly path: string; readonly typed: string } & ResultForm);

interface ResultForm {
  readonly format: Format;
  /** Texts of a table stay as they are, also those that a spreadsheet would take for formulas. */
  readonly isPlain: boolean;
}

/** @throws UsageError; RlmError `output_failed` if nothing can be written there, which is tried */
export function outPlace(
  { out, output, format: named, plain: isPlain = false }: Given<typeof OUT>,
  json: boolean,
  command: string,
): OutPlace {
  const typed = out ?? output;
  if (typed === undefined && named === undefined && !isPlain) return { kind: "none" };
  if (typed === undefined)
    throw new UsageError(`--${isPlain ? "plain" : "format"} needs --out FILE`, commandLine(["help", command]));
  const format = formatOf(typed, named, command);
  if (typed !== "-" && format === "table") {
    throw new UsageError(`--format table is for stdout, and --out ${typed} is a file`, commandLine(["help", command]));
  }
  if (isPlain && format !== "csv")
    throw new UsageError("--plain is for tables: --format csv", commandLine(["help", command]));
  if (typed !== "-") {
    const path = resolve(typed);
    checkResultFile(path);
    return { kind: "file", format, isPlain, path, typed };
  }
  if (!json) return { kind: "stdout", format, isPlain };
  throw new UsageError("--json and --out - would both write to stdout", commandLine(["help", command]));
}

/**
 * A table is written whole when the command ends, and to a file when it begins too: a later result
 * may need a further column.
 *
 * @throws RlmError `output_failed`
 */
async function openTable(out: Exclude<OutPlace, { kind: "none" }>, asked: FinalJobs, stdout: Output): Promise<Results> {
  let marked = 0;
  const mark = () => {
    marked += 1;
  };
  async function write(): Promise<void> {
    marked = 0;
    if (out.kind === "file") await writeResultFile(out.path, tableLines(asked, out.isPlain, mark), asked.run);
    else await writePieces(stdout, shownLines(out, asked, stdout, mark));
  }
  let problem: RlmError | null = null;
  // A device or a pipe cannot take back what it was given.
  if (out.kind === "file" && !targetOf(out.path).isSpecial) await write();
  return {
    get problem() {
      return problem;
    },
    get note() {
      if (marked === 0) return null;
      return `${amount(marked, "cell has", "cells have")} a ' in front, or a spreadsheet would run ${marked === 1 ? "it" : "them"} as a formula; --plain leaves it out`;
    },
    follow: async () => {},
    async close() {
      try {
        await write();
      } catch (error) {
        if (out.kind === "stdout" || !(error instanceof RlmError)) throw error;
        problem = error;
      }
    },
  };
}

/** More rows are for a file. */
const MOST_ROWS = 10_000;

async function* shownLines(
  form: ResultForm,
  asked: FinalJobs,
  stdout: Output,
  mark: () => void,
): AsyncIterable<string> {
  for await (const line of printedLines(form, asked, stdout, mark)) yield stdout.isTerminal ? visible(line) : line;
}

async function* printedLines(
  { format, isPlain }: ResultForm,
  asked: FinalJobs,
  stdout: Output,
  mark: () => void,
): AsyncIterable<string> {
  if (format === "csv") return yield* tableLines(asked, isPlain, mark);
  let names: readonly string[] = [];
  let hidden = 0;
  const rows: (readonly Json[])[] = [];
  for await (const row of tableRows(asked)) {
    if (names.length === 0) names = row.map(String);
    else if (rows.length < MOST_ROWS) rows.push(row);
    else hidden += 1;
  }
  yield* dataTable({ names, rows }, stdout);
  if (hidden > 0) yield `… and ${amount(hidden, "more row")}; --format csv has them all\n`;
}

/**
 * Begins the file with all results that there are, in one rename, and continues behind them.
 *
 * @throws RlmError `output_failed`
 */
export async function openResultFile(path: string, asked: ResultsAsked): Promise<Results> {
  const lines = openResultLines(asked);
  const { isSpecial } = targetOf(path);
  // Nothing that a device or a pipe was given can be taken back.
  if (!isSpecial) await writeResultFile(path, lines.next(), asked.run);
  const file = await (isSpecial ? openSpecial(path) : open(path, "a")).catch((error: unknown) => {
    throw outputFailed(path, error);
  });
  let problem: RlmError | null = null;
  let before = Promise.resolve();
  const fail = (error: unknown) => {
    problem ??= outputFailed(path, error);
  };
  const follow = async () => {
    if (problem) return;
    for await (const piece of chunks(lines.next())) await file.write(piece);
  };
  return {
    get problem() {
      return problem;
    },
    note: null,
    follow() {
      before = before.then(follow).catch(fail);
      return before;
    },
    async close() {
      await before;
      if (!isSpecial) await file.sync().catch(fail);
      await file.close();
    },
  };
}
