import { describeExecs } from "../../history/index.ts";
import { type ExecDescription, RlmError } from "../../index.ts";
import { amount } from "../../platform/figures.ts";
import { displayName } from "../../platform/ids.ts";
import { canBeChosen, readableRows, sessionNamed, summaryOf } from "../../session/index.ts";
import type { SessionRow, Store } from "../../store/index.ts";
import { runStore } from "../batch/run-command.ts";
import type { Host } from "../commands/define.ts";
import type { Arguments } from "../flags/arguments.ts";
import { OUTPUT_FLAGS } from "../flags/declared.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import { passedOver } from "../render/failure.ts";
import type { Terminal } from "../render/terminal.ts";
import { brief, inSession } from "../session/opening.ts";
import type { CliSession } from "../session/session.ts";
import { sessionMeant } from "../store/open-store.ts";
import { endOfRun } from "../workflow/end-of-run.ts";
import { tellOfStops } from "../workflow/stops.ts";
import { endOfAsk, isOpen } from "./ask.ts";
import { ending, openDelivery, runCells, signalsOf } from "./run-cells.ts";

/** `belay resume`: finishes what was interrupted, then runs the cells that were to follow. */
export function resumeCommand(args: Arguments, host: Host): Promise<number> {
  return inSession(args, host, "resume", async (parts) => {
    const { flags, terminal, stop, report, isJson, open } = parts;
    const name = nameOf(args);
    const opened = await open({
      tellsTurns: isJson || !args.get(OUTPUT_FLAGS.trajectory),
      runsWorkflows: true,
      choose: (store) => choose(store, name, runStore(args).flags, terminal),
    });
    if (!flags.quiet) await announce(opened, terminal);
    const { session, progress } = opened;
    const unfinished = session.unfinished();
    if (unfinished) {
      opened.checkRecorded();
      await opened.accept();
    }
    using _told = opened.workflow && tellOfStops(opened, parts);
    progress.begin(unfinished ? brief(unfinished.input) : "");
    const isLast = (unfinished?.rest.length ?? 0) === 0;
    const delivery = openDelivery(opened, isLast);
    const trajectory = args.get(OUTPUT_FLAGS.trajectory);
    const resumed = await session.resume({
      ...signalsOf(opened, stop),
      ...opened.waiting,
      ...delivery.asked,
      trajectory,
    });
    const taken = progress.end(resumed?.kind !== "ask" || !isOpen(resumed.envelope));
    if (!resumed?.envelope && resumed?.how !== "finished") throw nothingToResume(opened);
    if (resumed.kind === "ask") return endOfAsk(resumed.envelope, opened, parts);
    const { envelope, rest, kind } = resumed;
    if (trajectory) terminal.stderr.write(`--trajectory prints the turns of an ask; what was resumed is a ${kind}\n`);
    // Cells and questions are recorded when they begin.
    if (!envelope && !isJson)
      terminal.stderr.write(`the ${kind} is finished; for what was to follow it, run the same command again\n`);
    if (rest.length > 0) {
      opened.checkRecorded();
      await opened.accept();
    }
    // An earlier process may have written a recorded result: only a flag asks for it once more.
    const isAgain = resumed.how === "replayed" && rest.length === 0 && flags.output.file !== null;
    if (envelope && isAgain) await delivery.again(envelope);
    if (envelope && opened.workflow && kind === "cell" && rest.length === 0) {
      const isRecord = resumed.how === "replayed";
      return endOfRun(envelope, { opened, parts, taken, written: delivery.written(), isRecord });
    }
    const ended = envelope && ending(envelope, { rest, taken, opened, report, stop, written: delivery.written() });
    if (ended?.isOver || stop.exitCode !== undefined) return ended?.code ?? stop.exitCode ?? 0;
    return Math.max(ended?.code ?? 0, await runCells({ cells: rest, opened, report, stop, isBegun: false }));
  });
}

function nameOf(args: Arguments): string | undefined {
  const [name, ...more] = args.positionals;
  if (name === undefined || more.length === 0) return name;
  throw new UsageError("resume takes one session", commandLine(["resume", name]));
}

/** Kinds of execs with an outcome that can be printed again. */
const WITH_OUTCOME: ReadonlySet<string> = new Set(["cell", "query", "ask", "turn"]);

/**
 * The session named. Without a name it is the latest unfinished one; if all are finished, the
 * latest one whose newest exec has an outcome.
 */
async function choose(
  store: Store,
  name: string | undefined,
  flags: readonly string[],
  { stderr }: Terminal,
): Promise<SessionRow> {
  const warn = passedOver(stderr);
  if (name !== undefined) return sessionNamed(store, await sessionMeant(store, name, flags), warn);
  const { found, damaged } = await readableRows(store);
  damaged.forEach(warn);
  const own = found.filter(canBeChosen).map((row) => ({ row, ...summaryOf(row) }));
  const ended = own.filter(({ last }) => last && WITH_OUTCOME.has(last.kind));
  const latest =
    own.find(({ status, last }) => status === "unfinished" && last) ??
    ended.find(({ status }) => status === "idle") ??
    ended.find(({ status }) => status === "running");
  if (latest) return latest.row;
  const newest = own[0] ? `: the newest, ${displayName(own[0])}, has run nothing since it was begun or loaded` : "";
  throw new RlmError("session_not_found", `no session found to resume${newest}`, {
    suggestion: "`belay exec` makes one whenever it runs cells; `belay sessions` lists them.",
  });
}

/** `resuming NAME: cell 2, 3 of 5 sub-calls are recorded` */
async function announce({ session, kept }: CliSession, { stderr }: Terminal): Promise<void> {
  const journal = (await kept?.store.journal(session.id)) ?? [];
  const execs = describeExecs(journal.map(({ record }) => record));
  stderr.line(whatIsResumed(displayName(session), execs), "dim");
}

function whatIsResumed(name: string, execs: readonly ExecDescription[]): string {
  const last = execs.at(-1);
  if (last?.status !== "unfinished" && execs.some(({ kind, status }) => kind === "ask" && status === "unfinished")) {
    const sinceAsk = execs.slice(execs.findLastIndex(({ kind }) => kind === "ask"));
    const turns = sinceAsk.filter(({ kind, status }) => kind === "turn" && status === "ok").length;
    return `resuming ${name}: the ask, ${amount(turns, "turn")} of it ${turns === 1 ? "is" : "are"} recorded`;
  }
  if (last?.status !== "unfinished") {
    const rest = last?.status === "ok" ? last.rest.length : 0;
    if (rest > 0) return `resuming ${name}: the last cell is recorded, ${amount(rest, "cell")} to follow`;
    return `nothing is unfinished in ${name}; this is the record of what ran last`;
  }
  const { calls, kind, input } = last;
  // It waits for the reply of the model, which is not a sub-call.
  if (kind === "turn") return `resuming ${name}: ${input} of the ask`;
  const lastLoad = execs.findLastIndex((exec) => exec.kind === "load" && exec.status === "ok");
  const number = execs.slice(lastLoad + 1).filter((exec) => exec.kind === "cell").length;
  const what = kind === "cell" ? `cell ${number}` : `${kind} ${brief(input)}`;
  const recorded = calls.filter(({ status }) => status !== "pending").length;
  const progress = `${recorded} of ${amount(calls.length, "sub-call")} ${recorded === 1 || calls.length === 1 ? "is" : "are"} recorded`;
  return `resuming ${name}: ${what}${calls.length > 0 ? `, ${progress}` : ""}`;
}

function nothingToResume({ session, lineAbout }: CliSession): RlmError {
  return new RlmError("session_not_found", `nothing was ever run in ${displayName(session)}`, {
    suggestion: `Run one: ${lineAbout(["exec", "-e", "stats()", "--session"])}`,
  });
}
