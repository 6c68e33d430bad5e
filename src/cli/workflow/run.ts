import type { Resumed, Session } from "../../index.ts";
import { displayName } from "../../platform/ids.ts";
import { inLine } from "../../platform/visible.ts";
import type { WorkflowCell } from "../../workflow/index.ts";
import { envelopeIn, openDelivery, signalsOf } from "../running/run-cells.ts";
import type { InSession } from "../session/opening.ts";
import type { CliSession } from "../session/session.ts";
import { endOfRun } from "./end-of-run.ts";
import { tellOfStops } from "./stops.ts";

/** A run in its session, which is open. */
interface OpenedRun {
  readonly opened: CliSession & { readonly isBegun: boolean };
  readonly parts: InSession;
  readonly cell: WorkflowCell;
  /** The script's file, as messages name it. */
  readonly shown: string;
  /** The name that the script gives itself. */
  readonly title: string;
}

/** Begins a run, continues it, or shows the record of its end, which pays nothing. Gives the exit code. */
export async function runInSession({ opened, parts, cell, shown, title }: OpenedRun): Promise<number> {
  const { session, progress, isBegun } = opened;
  const { terminal, stop, flags } = parts;
  const replayed = isBegun ? null : await recordOfEnd(session, cell.asked);
  if (!flags.quiet) {
    const ended = opened.workflow?.unreported ? " has ended, which was not reported yet" : " has ended";
    const how = replayed ? `${ended}: this is its record, and --new runs it again` : isBegun ? ", goes on" : "";
    const where = opened.kept ? `session ${displayName(session)}` : "not kept";
    terminal.stderr.line(`${title}: ${inLine(shown)}, ${where}${how}`, "dim");
  }
  using _told = tellOfStops(opened, parts);
  const delivery = openDelivery(opened);
  const options = { ...signalsOf(opened, stop), ...opened.waiting, ...delivery.asked };
  progress.begin();
  const resumed = isBegun ? await session.resume(options) : replayed;
  const recorded = envelopeIn(resumed);
  if (replayed && recorded) await delivery.again(recorded);
  const envelope = recorded ?? (await session.exec(cell.source, { ...options, name: shown, workflow: true }));
  const taken = progress.end();
  return endOfRun(envelope, {
    opened,
    parts,
    taken,
    written: delivery.written(),
    isRecord: resumed?.how === "replayed",
  });
}

/** The record of the run, if it is what the session has run last. A kill may have come between its end and the report. */
async function recordOfEnd(session: Session, asked: string): Promise<Resumed | null> {
  const last = session.unfinished() ? null : await session.resume();
  const isSame = last?.kind === "cell" && typeof last.input === "string" && last.input.startsWith(asked);
  return isSame ? last : null;
}
