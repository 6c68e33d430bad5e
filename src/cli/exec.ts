import { type ExecEnvelope, RlmError } from "../index.ts";
import type { Arguments } from "./arguments.ts";
import { type Cell, readCells } from "./cells.ts";
import { amount } from "./numbers.ts";
import { type CliSession, openCliSession } from "./session.ts";
import { sessionFlags } from "./session-options.ts";
import { failureJson, showEnvelope, showFailure } from "./show.ts";
import { openStop, type Stop } from "./stop.ts";
import { processTerminal, type Terminal } from "./terminal.ts";

/** `belay exec`: loads the contexts, then runs the cells in one session until one fails. Gives the exit code. */
export async function exec(args: Arguments): Promise<number> {
  using stop = openStop();
  const code = await execUntil(stop, args);
  // Writing to stdout fails after the fact, and by then nothing else is left to wait for.
  return stop.exitCode || code;
}

async function execUntil(stop: Stop, args: Arguments): Promise<number> {
  const terminal = processTerminal(stop.ask);
  const flags = sessionFlags(args, "exec");
  const report = args.has("json") ? jsonReport(terminal) : textReport(terminal);
  let opened: CliSession | undefined;
  try {
    const cells = await readCells(args.inOrder, stop.signal);
    opened = await openCliSession(flags, terminal);
    await opened.loadAll(stop.signal);
    return await runCells(cells, opened, report, stop);
  } catch (error) {
    if (error instanceof RlmError) report.failure(error, opened?.session.id ?? null);
    // What is aborted while it reads stdin says so with an error of its own.
    else if (stop.exitCode === undefined) throw error;
    return 1;
  } finally {
    await opened?.[Symbol.asyncDispose]();
  }
}

async function runCells(cells: readonly Cell[], opened: CliSession, report: Report, stop: Stop): Promise<number> {
  for (const [index, cell] of cells.entries()) {
    opened.progress.begin();
    const envelope = await opened.session.exec(cell.source, { signal: stop.signal });
    opened.progress.end();
    // The reader of stdout has gone: nobody is left to report to.
    if (stop.exitCode === 0) return 0;
    report.envelope(envelope);
    if (stop.exitCode !== undefined) return stop.exitCode;
    if (envelope.success) continue;
    if (cells.length > 1) report.stoppedAt(cell, index, cells.length);
    return 1;
  }
  return 0;
}

interface Report {
  envelope(envelope: ExecEnvelope): void;
  /** @param session id, where there is one already */
  failure(error: RlmError, session: string | null): void;
  stoppedAt(cell: Cell, index: number, count: number): void;
}

/** One JSON object a line, and nothing else on stdout. */
const jsonReport = ({ stdout }: Terminal): Report => ({
  envelope: (envelope) => stdout.writeRaw(`${JSON.stringify(envelope)}\n`),
  failure: (error, session) => stdout.writeRaw(`${failureJson(error, session)}\n`),
  stoppedAt() {},
});

const textReport = (terminal: Terminal): Report => ({
  envelope: (envelope) => showEnvelope(envelope, terminal),
  failure: (error) => showFailure(error, terminal),
  stoppedAt(cell, index, count) {
    const left = count - index - 1;
    const rest = left > 0 ? `; ${amount(left, "cell")} not run` : "";
    terminal.stderr.write(`stopped at cell ${index + 1} of ${count} (${cell.name})${rest}\n`);
  },
});
