import type { DryRun, ExecEnvelope } from "../index.ts";
import type { Arguments } from "./arguments.ts";
import type { CallsTaken } from "./call-line.ts";
import { type Cell, readCells } from "./cells.ts";
import { showDryRun } from "./dry-run.ts";
import { amount } from "./numbers.ts";
import { type CliSession, type ReportFailure, reportingFailures } from "./session.ts";
import { sessionFlags } from "./session-options.ts";
import { readSettings } from "./settings.ts";
import { failureJson, showEnvelope, showFailure } from "./show.ts";
import { type Stop, untilStopped } from "./stop.ts";
import { processTerminal, type Terminal } from "./terminal.ts";
import { commandLine, UsageError } from "./usage.ts";

/** `belay exec`: loads the contexts, then runs the cells in one session until one fails. Gives the exit code. */
export function exec(args: Arguments): Promise<number> {
  return untilStopped((stop) => execUntil(stop, args));
}

async function execUntil(stop: Stop, args: Arguments): Promise<number> {
  const terminal = processTerminal(stop.ask);
  const flags = sessionFlags(args, "exec");
  const report = args.has("json") ? jsonReport(terminal) : textReport(terminal);
  return reportingFailures(stop, report.failure, async (open) => {
    const settings = readSettings(flags);
    const cells = await readCells(args.inOrder, stop.signal);
    const [dry] = args.has("dry-run") ? onlyCell(cells) : [];
    const opened = await open(flags, settings, terminal);
    return await (dry ? estimate(dry, opened, report, stop) : runCells(cells, opened, report, stop));
  });
}

/** Each dry run has a copy of the guest for itself, so a second cell would miss what the first defines. */
function onlyCell(cells: readonly Cell[]): readonly Cell[] {
  if (cells.length === 1) return cells;
  throw new UsageError(
    `--dry-run takes one cell, and there are ${cells.length}; put them into one file`,
    commandLine(["help", "exec"]),
  );
}

async function estimate(cell: Cell, { session, progress }: CliSession, report: Report, stop: Stop): Promise<number> {
  progress.begin();
  const dry = await session.dryRun(cell.source, { signal: stop.signal });
  progress.end();
  if (stop.exitCode === 0) return 0;
  report.dryRun(dry);
  return stop.exitCode ?? (dry.envelope.success ? 0 : 1);
}

async function runCells(cells: readonly Cell[], opened: CliSession, report: Report, stop: Stop): Promise<number> {
  for (const [index, cell] of cells.entries()) {
    opened.progress.begin();
    const envelope = await opened.session.exec(cell.source, { signal: stop.signal });
    const taken = opened.progress.end();
    // The reader of stdout has gone: nobody is left to report to.
    if (stop.exitCode === 0) return 0;
    report.envelope(envelope, taken);
    if (stop.exitCode !== undefined) return stop.exitCode;
    if (envelope.success) continue;
    if (cells.length > 1) report.stoppedAt(cell, index, cells.length);
    return 1;
  }
  return 0;
}

interface Report {
  envelope(envelope: ExecEnvelope, taken: CallsTaken | null): void;
  dryRun(dry: DryRun): void;
  readonly failure: ReportFailure;
  stoppedAt(cell: Cell, index: number, count: number): void;
}

/** One JSON object a line, and nothing else on stdout. */
const jsonReport = ({ stdout }: Terminal): Report => ({
  envelope: (envelope) => stdout.writeRaw(`${JSON.stringify(envelope)}\n`),
  dryRun: ({ envelope, estimate }) => stdout.writeRaw(`${JSON.stringify({ ...envelope, estimate })}\n`),
  failure: (error, session) => stdout.writeRaw(`${failureJson(error, session)}\n`),
  stoppedAt() {},
});

const textReport = (terminal: Terminal): Report => ({
  envelope: (envelope, taken) => showEnvelope(envelope, taken, terminal),
  dryRun: (dry) => showDryRun(dry, terminal),
  failure: (error) => showFailure(error, terminal),
  stoppedAt(cell, index, count) {
    const left = count - index - 1;
    const rest = left > 0 ? `; ${amount(left, "cell")} not run` : "";
    terminal.stderr.write(`stopped at cell ${index + 1} of ${count} (${cell.name})${rest}\n`);
  },
});
