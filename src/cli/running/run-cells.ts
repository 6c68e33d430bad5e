import { type ExecFailure, type Resumed, RlmError } from "../../index.ts";
import { writeResultFile } from "../../platform/result-file.ts";
import { type Cell, fileOf } from "../input/cells.ts";
import type { CallTotals } from "../render/calls.ts";
import type { Outcome, Written } from "../render/envelope.ts";
import { formatOfFile, formatted } from "../render/formats.ts";
import { hasLoss, isResultLeftOut } from "../render/warnings.ts";
import type { CliSession } from "../session/session.ts";
import type { Stop } from "../stop.ts";
import type { Report } from "./reports.ts";

/** The cells of a command, in one session until one fails. */
interface CellRun {
  readonly cells: readonly Cell[];
  readonly opened: CliSession;
  readonly report: Report;
  readonly stop: Stop;
  /** The first was begun before and is resumed. */
  readonly isBegun: boolean;
}

/** Gives the exit code. */
export async function runCells({ cells, opened, report, stop, isBegun }: CellRun): Promise<number> {
  const { session, progress, waiting } = opened;
  const signals = { ...signalsOf(opened, stop), ...waiting };
  let code = 0;
  for (const [index, cell] of cells.entries()) {
    progress.begin();
    const rest = cells.slice(index + 1);
    const delivery = openDelivery(opened, rest.length === 0);
    const options = { ...signals, ...delivery.asked };
    const resumed = isBegun && index === 0 ? await session.resume(options) : null;
    const envelope = envelopeIn(resumed) ?? (await session.exec(cell.source, { ...options, rest, ...fileOf(cell) }));
    const taken = progress.end();
    const ended = ending(envelope, { rest, taken, opened, report, stop, written: delivery.written() });
    code = Math.max(code, ended.code);
    if (!ended.isOver) continue;
    if (stop.exitCode === undefined && cells.length > 1) report.stoppedAt(cell, index, cells.length);
    return ended.code;
  }
  return code;
}

/** The envelope of a cell or query that was resumed. */
export function envelopeIn(resumed: Resumed | null): Outcome | null {
  return resumed && resumed.kind !== "ask" ? resumed.envelope : null;
}

/** Handles the outcome of an exec. */
interface Ending extends Pick<CellRun, "opened" | "report" | "stop"> {
  /** Cells that are still to be run. */
  readonly rest: readonly Cell[];
  readonly taken: CallTotals | null;
  /** The file that the result is in. */
  readonly written: Written | null;
}

/**
 * Exit codes: something that was asked for is missing, or a person has to act; only providers can
 * continue.
 */
export const INCOMPLETE = 3;
const WAITS = 4;

/** The exit code of an exec that failed or is not over. */
export function failedCode({ error_code, waits }: Pick<ExecFailure, "error_code" | "waits">): number {
  if (!waits) return 1;
  return error_code === "waits_for_provider" ? WAITS : INCOMPLETE;
}

/** Reports how an exec ended. Gives the exit code, and whether the command ends with it. */
export function ending(envelope: Outcome, { rest, taken, opened, report, stop, written }: Ending) {
  // The reader of stdout has gone, so nothing is reported.
  if (stop.exitCode === 0) return { code: 0, isOver: true };
  const { output, limits, kept, resumeCommand } = opened;
  const again = kept === null ? null : resumeCommand("--format", "json");
  const format = output.file === null ? output.format : null;
  const showing = { format, isLast: rest.length === 0, written, limits, again };
  const isOpen = kept !== null && !envelope.success && envelope.resumable === true;
  const line = resumeCommand();
  let isShown = true;
  if (isOpen) report.suspended(envelope, taken, line, showing);
  else isShown = report.outcome(envelope, taken, showing);
  if (stop.exitCode !== undefined) {
    if (envelope.success && rest.length > 0 && kept) report.suspended(null, null, line, showing);
    return { code: stop.exitCode, isOver: true };
  }
  if (!envelope.success) return { code: failedCode(envelope), isOver: true };
  if (!isShown) return { code: 1, isOver: true };
  return { code: hasLoss(envelope.warnings, written !== null) ? INCOMPLETE : 0, isOver: false };
}

/** The signals that end an exec: they suspend a session that is kept, and cancel another one. */
export function signalsOf({ kept }: CliSession, stop: Stop): { signal: AbortSignal; suspend?: AbortSignal } {
  return kept ? { signal: stop.cancel, suspend: stop.suspend } : { signal: stop.signal };
}

/**
 * The file of a result, written before the end of its exec is recorded.
 * @param isLast the result of an earlier cell goes nowhere but to stdout
 */
export function openDelivery({ output, session, kept }: CliSession, isLast = true) {
  const { file: path, format } = output;
  if (path === null || !isLast) return { asked: {}, again: async () => {}, written: () => null };
  let written: Written | null = null;
  const write = (pieces: Iterable<string>) => writeResultFile(path, pieces, session.id);
  const deliver = async (json: string): Promise<void> => {
    let pieces: Iterable<string>;
    try {
      pieces = formatted(json, format ?? formatOfFile(path, json));
    } catch (error) {
      if (!(error instanceof RlmError)) throw error;
      // An exec that can be resumed is not over, and loses nothing.
      if (!kept) await write(formatted(json, "json"));
      const cure = kept
        ? "Resume it with --format json, or with --output and another name: nothing that was answered is asked for again."
        : `${path} has it as JSON.`;
      throw new RlmError("output_failed", error.message, { suggestion: cure, cause: error });
    }
    written = { path, bytes: await write(pieces) };
  };
  return {
    /** Options of `exec`, `query` and `resume` of a session. */
    asked: { deliver },
    /**
     * Delivers an outcome that was recorded before. Its exec has ended, so only its kept result can
     * be written.
     *
     * @throws RlmError
     */
    async again(envelope: Outcome) {
      const isThere = envelope.success && !envelope.warnings.some(isResultLeftOut);
      if (isThere) await deliver(JSON.stringify("answer" in envelope ? envelope.answer : envelope.result_json));
    },
    /** The written result, or null. */
    written: () => written,
  };
}
