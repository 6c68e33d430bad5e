import { amount } from "../figures.ts";
import type { DryRun, ExecEnvelope, ExecFailure, QueryEnvelope } from "../index.ts";
import type { CallsTaken } from "./call-line.ts";
import { type Cell, fileOf } from "./cells.ts";
import { showDryRun } from "./dry-run.ts";
import type { ReportFailure } from "./opening.ts";
import type { CliSession } from "./session.ts";
import { failureJson, showAnswer, showEnvelope, showFailure } from "./show.ts";
import type { Stop } from "./stop.ts";
import type { Terminal } from "./terminal.ts";
import { envelopeInFlags } from "./wording.ts";

/** How the outcome of cells and queries is told. */
export interface Report {
  envelope(envelope: ExecEnvelope, taken: CallsTaken | null): void;
  answer(answer: QueryEnvelope, taken: CallsTaken | null): void;
  /** What is not over, a cell or the cells after it, can be continued with this line. */
  suspended(open: ExecFailure | null, taken: CallsTaken | null, resume: string): void;
  dryRun(dry: DryRun): void;
  readonly failure: ReportFailure;
  stoppedAt(cell: Cell, index: number, count: number): void;
}

/** The cells of a command, in one session until one fails. */
export interface CellRun {
  readonly cells: readonly Cell[];
  readonly opened: CliSession;
  readonly report: Report;
  readonly stop: Stop;
  /** The first was begun before and is resumed. */
  readonly isBegun: boolean;
}

/** Gives the exit code. */
export async function runCells({ cells, opened, report, stop, isBegun }: CellRun): Promise<number> {
  const { session, progress } = opened;
  const signals = signalsOf(opened, stop);
  for (const [index, cell] of cells.entries()) {
    progress.begin();
    const rest = cells.slice(index + 1);
    const resumed = isBegun && index === 0 ? await session.resume(signals) : null;
    const envelope = resumed?.envelope ?? (await session.exec(cell.source, { ...signals, rest, ...fileOf(cell) }));
    const taken = progress.end();
    const code = ending(envelope, { rest, taken, opened, report, stop });
    if (code === undefined) continue;
    if (stop.exitCode === undefined && cells.length > 1) report.stoppedAt(cell, index, cells.length);
    return code;
  }
  return 0;
}

/** What a command does with the outcome of an exec. */
export interface Ending {
  /** Cells that are still to be run. */
  readonly rest: readonly Cell[];
  readonly taken: CallsTaken | null;
  readonly opened: CliSession;
  readonly report: Report;
  readonly stop: Stop;
}

/** Reports how an exec ended. Gives the exit code where the command ends with it. */
export function ending(envelope: ExecEnvelope | QueryEnvelope, given: Ending): number | undefined {
  const { rest, taken, opened, report, stop } = given;
  // The reader of stdout has gone: nobody is left to report to.
  if (stop.exitCode === 0) return 0;
  const isOpen = opened.kept !== null && !envelope.success && envelope.resumable === true;
  const line = opened.line("resume");
  if (isOpen) report.suspended(envelope, taken, line);
  else if ("answer" in envelope) report.answer(envelope, taken);
  else if ("stdout" in envelope) report.envelope(envelope, taken);
  if (stop.exitCode === undefined) return envelope.success ? undefined : 1;
  if (envelope.success && rest.length > 0 && opened.kept) report.suspended(null, null, line);
  return stop.exitCode;
}

/** What ends an exec: a session that is kept is suspended by signals, another is cancelled. */
export function signalsOf({ kept }: CliSession, stop: Stop): { signal: AbortSignal; suspend?: AbortSignal } {
  return kept ? { signal: stop.cancel, suspend: stop.suspend } : { signal: stop.signal };
}

/** One JSON object a line, and nothing else on stdout. */
export const jsonReport = ({ stdout }: Terminal): Report => {
  const print = (fields: object) => stdout.writeRaw(`${JSON.stringify(envelopeInFlags(fields))}\n`);
  return {
    envelope: print,
    answer: print,
    suspended(open, _taken, resume) {
      if (!open) return;
      // What failed otherwise, as a store does on a full disk, has a cure of its own.
      const suggestion = open.error_code === "cancelled" ? `\`${resume}\` finishes it.` : open.suggestion;
      print({ ...open, suggestion, resume });
    },
    dryRun: ({ envelope, estimate }) => print({ ...envelope, estimate }),
    failure: (error, session) => stdout.writeRaw(`${failureJson(error, session)}\n`),
    stoppedAt() {},
  };
};

export const textReport = (terminal: Terminal): Report => ({
  envelope: (envelope, taken) => showEnvelope(envelope, taken, terminal),
  answer: (answer, taken) => showAnswer(answer, taken, terminal),
  suspended(open, taken, resume) {
    // What failed otherwise, as a store does on a full disk, says why.
    if (open && open.error_code !== "cancelled") showEnvelope(open, taken, terminal);
    terminal.stderr.write(`suspended; continue with: ${resume}\n`, "yellow");
  },
  dryRun: (dry) => showDryRun(dry, terminal),
  failure: (error) => showFailure(error, terminal),
  stoppedAt(cell, index, count) {
    const left = count - index - 1;
    const rest = left > 0 ? `; ${amount(left, "cell")} not run` : "";
    terminal.stderr.write(`stopped at cell ${index + 1} of ${count} (${cell.name})${rest}\n`);
  },
});
