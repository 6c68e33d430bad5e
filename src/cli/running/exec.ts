import { REMARK_NAMES } from "../../session/index.ts";
import type { Host } from "../commands/define.ts";
import type { ExecFlags } from "../commands/exec.ts";
import type { QueryFlags } from "../commands/query.ts";
import type { Arguments } from "../flags/arguments.ts";
import type { SessionFlags } from "../flags/session-flags.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import { type Cell, fileOf, readCells } from "../input/cells.ts";
import { questionOf } from "../input/sources.ts";
import { inSession } from "../session/opening.ts";
import type { CliSession } from "../session/session.ts";
import { readSettings } from "../session/settings.ts";
import type { Stop } from "../stop.ts";
import type { Report } from "./reports.ts";
import { ending, envelopeIn, openDelivery, runCells, signalsOf } from "./run-cells.ts";

/** `belay exec`: brings in the contexts, then runs the cells in one session until one fails. */
export function execCommand(args: Arguments, host: Host, { dryRun }: ExecFlags): Promise<number> {
  return inSession(args, host, "exec", async ({ flags, stop, report, open }) => {
    // Before stdin is waited for.
    if (flags.session === null) readSettings(flags);
    const cells = await readCells(args.inOrder, stop.signal);
    const work = { kind: "cell", input: cells[0]?.source ?? "" } as const;
    if (!dryRun) {
      const opened = await open({ asked: work });
      return runCells({ cells, opened, report, stop, isBegun: opened.isBegun });
    }
    const cell = onlyCell(cells);
    return estimate(cell, await open({ asked: work, flags: lookingOnly(flags), looksOnly: true }), report, stop);
  });
}

/**
 * The one cell of a dry run. Each dry run has a guest of its own, so a second cell would miss what
 * the first defines.
 */
function onlyCell(cells: readonly Cell[]): Cell {
  const [cell] = cells;
  if (cell && cells.length === 1) return cell;
  const problem = `--dry-run takes one cell, and there are ${cells.length}; put them into one file`;
  throw new UsageError(problem, commandLine(["help", "exec"]));
}

/** A dry run changes nothing; without a session's name there is nothing that it could look at. */
function lookingOnly(flags: SessionFlags): SessionFlags {
  const { session, store, change, discard, output, options } = flags;
  if (output.file !== null || output.format !== null) {
    const option = output.file === null ? "format" : "output";
    const problem = `--${option} needs a result, and --dry-run prints an estimate`;
    throw new UsageError(problem, commandLine(["help", "exec"]));
  }
  const option = change ?? (discard ? "discard" : (REMARK_NAMES.find((name) => options[name] !== undefined) ?? null));
  if (option !== null) {
    throw new UsageError(`--dry-run changes nothing, and --${option} would`, commandLine(["help", "exec"]));
  }
  return { ...flags, store: session === null ? null : store };
}

async function estimate(cell: Cell, { session, progress }: CliSession, report: Report, stop: Stop): Promise<number> {
  progress.begin();
  const dry = await session.dryRun(cell.source, { signal: stop.signal, ...fileOf(cell) });
  progress.end();
  if (stop.exitCode === 0) return 0;
  report.dryRun(dry);
  return stop.exitCode ?? (dry.envelope.success ? 0 : 1);
}

/** `belay query`: brings in the contexts and answers one question about them. */
export function queryCommand(args: Arguments, host: Host, own: QueryFlags): Promise<number> {
  return inSession(args, host, "query", async ({ flags, stop, report, open }) => {
    const question = questionOf(args, "query", flags);
    const work = { kind: "query", input: question } as const;
    const opened = await open({ asked: work, needsModel: true });
    const { session, progress } = opened;
    const delivery = openDelivery(opened);
    const signals = { ...signalsOf(opened, stop), ...delivery.asked };
    progress.begin();
    const resumed = opened.isBegun ? await session.resume(signals) : null;
    const answer = envelopeIn(resumed) ?? (await session.query(question, { ...own, ...signals }));
    const taken = progress.end();
    return ending(answer, { rest: [], taken, opened, report, stop, written: delivery.written() }).code;
  });
}
