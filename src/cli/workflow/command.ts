import { hash } from "node:crypto";
import { LIMITS } from "../../../runtime/index.ts";
import { type Resumed, RlmError, type Session } from "../../index.ts";
import { amount, priced } from "../../platform/figures.ts";
import { displayName } from "../../platform/ids.ts";
import { withoutUndefined } from "../../platform/json.ts";
import { inLine } from "../../platform/visible.ts";
import { sessionNamed } from "../../session/index.ts";
import { LAST_SESSION } from "../../session/session-name.ts";
import type { AskedSettings } from "../../settings/index.ts";
import { openSigner } from "../../settings/signed-settings.ts";
import type { Store } from "../../store/index.ts";
import { type SavedWorkflow, savedWorkflows, WORKFLOW_OUTPUT, type WorkflowCell } from "../../workflow/index.ts";
import type { Host } from "../commands/define.ts";
import { OWN, type WorkflowFlags } from "../commands/workflow.ts";
import type { Arguments } from "../flags/arguments.ts";
import { OUTPUT_FLAGS } from "../flags/declared.ts";
import type { Flag } from "../flags/flag.ts";
import type { AskedWorkflow, SessionFlags } from "../flags/session-flags.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import { passedOver } from "../render/failure.ts";
import { ask, canAsk } from "../render/question.ts";
import { type Column, showTable } from "../render/table.ts";
import { envelopeIn, openDelivery, signalsOf } from "../running/run-cells.ts";
import { type InSession, inSession } from "../session/opening.ts";
import type { CliSession } from "../session/session.ts";
import { readSettings } from "../session/settings.ts";
import { workflowPlaces } from "../session/workflow-options.ts";
import { sessionMeant, showingFailures, withStore } from "../store/open-store.ts";
import { endOfRun } from "./end-of-run.ts";
import { initCommand } from "./init.ts";
import { type EarlierRun, earlierRun, markOf, nameOfRun, usualName } from "./run-name.ts";
import { cellOf, type NamedScript, scriptNamed } from "./script.ts";
import { tellOfStops } from "./stops.ts";

/**
 * `belay workflow`: runs a script that directs agents, estimates its price, lists saved ones, or
 * writes the entry of an agent. Gives the exit code.
 */
export function workflowCommand(args: Arguments, host: Host, own: WorkflowFlags): Promise<number> {
  const [named, ...more] = args.positionals;
  const { init } = own;
  if (init !== undefined) {
    if (named !== undefined) throw new UsageError("--init takes no script", commandLine(["workflow", "--init", init]));
    return initCommand(args, init);
  }
  if (more.length > 0) {
    const problem = "workflow takes one FILE or NAME; what the script gets is given with --args";
    throw new UsageError(problem, commandLine(["workflow", named ?? "FILE", "--args", "JSON"]));
  }
  if (named === undefined) return withoutScript(args);
  return inSession(args, host, "workflow", async (parts) => {
    const asked = askedBy(named, args, parts, own);
    return own.dryRun ? estimate(asked, host, parts, own) : run(asked, host, parts, own);
  });
}

/** Lists saved workflows, unless a flag tells that a script was meant. */
function withoutScript(args: Arguments): Promise<number> {
  const given = Object.values(OWN).find((flag) => args.isGiven(flag));
  if (!given) return listSaved(args);
  throw new UsageError(`--${given.name} needs a script: a FILE, or the NAME of a saved one`, commandLine(["workflow"]));
}

/** A run that was asked for, before its session is known. */
interface AskedRun extends NamedScript {
  readonly cell: WorkflowCell;
  /** With the limits of workflows in place of those of other commands. */
  readonly flags: SessionFlags;
  /** The line without the flags that say how its run begins. */
  readonly line: readonly string[];
}

function askedBy(named: string, args: Arguments, { flags, terminal }: InSession, own: WorkflowFlags): AskedRun {
  const found = scriptNamed(named, own);
  const cell = cellOf(found.script, flags, own, (line) => terminal.stderr.line(line, "yellow"));
  const { isNew, reuse, only, trust, dryRun, assume } = OWN;
  const line = lineWithout(args, [isNew, reuse, only, trust, dryRun, assume, OUTPUT_FLAGS.json]);
  return { ...found, cell, flags: ofWorkflows(flags, found), line };
}

const LABEL_UNITS = 200;

/** Flags with the limits of workflows, unless others are set. The budget is that of each session that runs one. */
function ofWorkflows(flags: SessionFlags, { script: { meta } }: NamedScript): SessionFlags {
  const set = readSettings(flags);
  const usual = { ...WORKFLOW_OUTPUT, concurrency: LIMITS.workflowAtOnce };
  const own: AskedSettings = Object.fromEntries(Object.entries(usual).filter(([key]) => !Object.hasOwn(set, key)));
  // Models read in the folder, as the user who starts them there does.
  const roots = [...(set.roots ?? []), process.cwd()];
  const label = inLine(`workflow ${meta.name}: ${meta.description}`.replaceAll(/\s+/g, " ")).slice(0, LABEL_UNITS);
  return {
    ...flags,
    options: { label: label.toWellFormed(), ...flags.options },
    settings: { ...own, ...flags.settings, roots },
  };
}

/** Runs the script with placeholders for answers, and tells what each phase could cost. */
async function estimate(asked: AskedRun, host: Host, parts: InSession, own: WorkflowFlags): Promise<number> {
  const { cell, flags } = asked;
  const { report, stop } = parts;
  const reuse = flags.store === null ? null : await withReuse(flags.store, host, parts, own);
  // Answers on record are looked up in the run that has them.
  const place = reuse === null ? { store: null, session: null } : { session: reuse.session };
  const opened = await parts.open({
    flags: { ...flags, ...place, workflow: recordOf(asked, reuse) },
    looksOnly: true,
    runsWorkflows: true,
  });
  opened.progress.begin();
  const options = { signal: stop.signal, name: asked.shown, workflow: true };
  const { assume: assumed } = own;
  const dry = await opened.session.dryRun(cell.source, { ...options, ...withoutUndefined({ assumed }) });
  opened.progress.end();
  if (stop.exitCode === 0) return 0;
  report.dryRun(dry);
  return stop.exitCode ?? (dry.envelope.success ? 0 : 1);
}

async function run(asked: AskedRun, host: Host, parts: InSession, own: WorkflowFlags): Promise<number> {
  const { flags, cell, shown, script } = asked;
  const { name, workflow: record } = await placeOf(asked, host, parts, own);
  const workflow: AskedWorkflow = own.isNew ? { ...record, unreported: true } : record;
  const opened = await parts.open({
    asked: { kind: "cell", input: cell.asked, isBeginning: true },
    flags: { ...flags, session: name, workflow },
    runsWorkflows: true,
  });
  return runInSession({ opened, parts, cell, shown, title: script.meta.name });
}

/** The session of a run, and what its row records. */
interface RunPlace {
  /** null: it is in memory. */
  readonly name: string | null;
  readonly workflow: AskedWorkflow;
}

/** Finds the session of a run by what is asked. Nothing is started before. @throws RlmError, UsageError */
async function placeOf(asked: AskedRun, host: Host, parts: InSession, own: WorkflowFlags): Promise<RunPlace> {
  const { store: place, session: typed } = asked.flags;
  if (typed === LAST_SESSION) {
    throw new UsageError("--session takes the name of a run; to continue the last one:", commandLine(["resume"]));
  }
  if (place === null) return { name: null, workflow: recordOf(asked, null) };
  return withStore(place, host, async (store) => {
    const { isNew = false } = own;
    const reuse = await reuseIn(store, parts, own);
    const workflow = recordOf(asked, reuse);
    const signer = openSigner(place, process.env);
    const wanted = { mark: workflow.mark, isNew, isTyped: typed !== null, signer };
    const name = await nameOfRun(store, typed ?? usualName(workflow), wanted);
    if (isNew || reuse !== null || (await store.find(name))) return { name, workflow };
    const earlier = await earlierRun(store, workflow, signer);
    if (!earlier) return { name, workflow };
    if (earlier.isSame) return { name: earlier.name, workflow };
    if ((await chosen(earlier, asked.line, parts)) === "new") return { name, workflow };
    // The same line finds the run by its own mark.
    return { name, workflow: { ...workflow, reuse: { session: await idOf(store, earlier.name, parts) } } };
  });
}

type Reuse = AskedWorkflow["reuse"];

const withReuse = (place: string, host: Host, parts: InSession, own: WorkflowFlags): Promise<Reuse> =>
  own.reuse === undefined ? Promise.resolve(null) : withStore(place, host, (store) => reuseIn(store, parts, own));

/** The run that --reuse names, and the phase of --only; null: none. @throws RlmError `session_not_found` */
async function reuseIn(store: Store, parts: InSession, { reuse, only }: WorkflowFlags): Promise<Reuse> {
  if (reuse === undefined) return null;
  return { session: await idOf(store, reuse, parts), ...(only === undefined ? {} : { only }) };
}

/** The id of a run. @throws RlmError `session_not_found` */
async function idOf(store: Store, name: string, { terminal, flags }: InSession): Promise<string> {
  const words = flags.isStoreNamed && flags.store !== null ? ["--store", flags.store] : [];
  return (await sessionNamed(store, await sessionMeant(store, name, words), passedOver(terminal.stderr))).id;
}

/** The record of a run in its session's row. */
function recordOf({ script, file, cell, line }: Omit<AskedRun, "flags" | "shown">, reuse: Reuse): AskedWorkflow {
  const asked = hash("sha256", cell.asked);
  return {
    name: script.meta.name,
    file,
    text: hash("sha256", script.source),
    asked,
    mark: markOf(asked, reuse),
    typed: line,
    reuse,
  };
}

/** `belay workflow` without a script: lists those that are saved. Gives the exit code. */
function listSaved(args: Arguments): Promise<number> {
  return showingFailures(args, async ({ stdout, stderr }) => {
    const all = savedWorkflows(workflowPlaces(process.cwd()));
    if (args.get(OUTPUT_FLAGS.json)) return stdout.json({ success: true, workflows: all.map(told) });
    const there = all.filter(({ script }) => script !== null);
    if (there.length === 0) stdout.write(`${NONE}\n`);
    else showTable(TITLES, there.map(rowOf), COLUMNS, stdout);
    for (const { file, problem, hides } of all) {
      if (problem !== null) stderr.line(`${inLine(file)} is left out: ${problem}`, "yellow");
      for (const hidden of hides)
        stderr.line(`${inLine(hidden)} is left out: ${inLine(file)} has the same name`, "yellow");
    }
    const untrusted = there.find(({ isTrusted }) => !isTrusted);
    if (untrusted)
      stderr.line(`read one that is not trusted, then: ${commandLine(["workflow", untrusted.name, "--trust"])}`, "dim");
  });
}

const NONE =
  "no workflows are saved in ~/.belay/workflows, ~/.claude/workflows, .belay/workflows or .claude/workflows\nrun a file: belay workflow FILE";
const TITLES = ["workflow", "written by", "description", "file"];
const COLUMNS: readonly Column[] = ["left", "left", "left", "left 1"];

/** The user's own are theirs; others may have written a project's. */
function authorOf({ of, isTrusted }: SavedWorkflow): string {
  if (of === "user") return "you";
  return isTrusted ? "the project, trusted" : "the project, not trusted";
}

const rowOf = (saved: SavedWorkflow) => [saved.name, authorOf(saved), saved.script?.meta.description ?? "", saved.file];

/** A saved workflow, for programs. */
function told({ name, of, file, isTrusted, script, problem, hides }: SavedWorkflow): object {
  const { description = null, whenToUse = null, phases = [] } = script?.meta ?? {};
  return { name, of, file, trusted: isTrusted, description, when_to_use: whenToUse, phases, problem, hides };
}

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
async function runInSession({ opened, parts, cell, shown, title }: OpenedRun): Promise<number> {
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

/** The way in which a changed script is run: with answers of the earlier run, or with none. */
type Choice = "reuse" | "new";

/**
 * Lets the user choose what an edited script takes over. A comment that was added must not pay for
 * every agent again. A terminal asks.
 *
 * @param line the words that were typed behind `belay`
 * @throws RlmError `invalid_argument` with both lines, where nobody can be asked
 */
async function chosen(
  earlier: EarlierRun,
  line: readonly string[],
  { terminal: { stderr }, stop, isJson }: InSession,
): Promise<Choice> {
  const { name, answers, cost_usd } = earlier;
  const got = [amount(answers, "answer"), ...priced(cost_usd)].join(", ");
  const problem = `the script has an earlier run with another text: ${inLine(name)} (${got})`;
  if (!isJson && canAsk(stderr)) {
    stderr.write(`${problem}\n`, "yellow");
    const typed = await ask("[r]euse its answers, begin a [n]ew run, or [q]uit? ", stderr, stop.signal);
    if (typed === "r" || typed === "reuse") return "reuse";
    if (typed === "n" || typed === "new") return "new";
    throw new RlmError("cancelled", "nothing was started", { suggestion: "Run the line again." });
  }
  const reuse = commandLine([...line, "--reuse", name]);
  throw new RlmError("invalid_argument", `${problem}. Nothing was started`, {
    suggestion: `\`${reuse}\` makes only the calls that ask something new; \`${commandLine([...line, "--new"])}\` takes over nothing.`,
  });
}

/**
 * The words of a line of `belay workflow`, without some of its flags and their values: a line to
 * type begins a run, continues it, or runs it in another way.
 */
function lineWithout({ typed }: Pick<Arguments, "typed">, flags: readonly Flag[]): readonly string[] {
  const left = flags.map(({ name, type }) => ({ word: `--${name}`, hasValue: type.word !== null }));
  const isLeft = (word: string, at: number) => {
    const isFlag = left.some(({ word: flag }) => word === flag || word.startsWith(`${flag}=`));
    return isFlag || left.some(({ word: flag, hasValue }) => hasValue && typed[at - 1] === flag);
  };
  return ["workflow", ...typed.filter((word, at) => !isLeft(word, at))];
}
