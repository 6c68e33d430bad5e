import { describeExecs } from "../../history/index.ts";
import { amount } from "../../platform/figures.ts";
import { displayName } from "../../platform/ids.ts";
import { commandLine } from "../flags/usage.ts";
import { type CallTotals, untilText } from "../render/calls.ts";
import type { Outcome, Written } from "../render/envelope.ts";
import { reportOf } from "../running/reports.ts";
import { ending } from "../running/run-cells.ts";
import type { InSession } from "../session/opening.ts";
import type { CliSession } from "../session/session.ts";

/** A run that has ended, or waits. */
interface EndedRun {
  readonly opened: CliSession;
  readonly parts: InSession;
  readonly taken: CallTotals | null;
  /** The file that the result is in. */
  readonly written: Written | null;
  /** It had ended before: nothing of what it printed has been shown by this process. */
  readonly isRecord: boolean;
}

/** A run as it ended, by the records of its session. */
interface RunFacts {
  readonly agents: AgentCounts;
  /** The id of the run whose answers it took over; null: of none. */
  readonly reused_from: string | null;
  /** Worktrees in which agents have changed something. */
  readonly worktrees: readonly Worktree[];
  /** The line that asks only those again that gave no answer; null: all have. */
  readonly again: string | null;
}

interface Worktree {
  /** Number of the call in its exec. */
  readonly call: number;
  readonly label: string | null;
  readonly path: string;
}

interface AgentCounts {
  readonly made: number;
  readonly answered: number;
  readonly failed: number;
  /** Those whose answer is that of an earlier run. */
  readonly reused: number;
}

/**
 * Tells how a run ended: its result, the answers that it took over, and the line that asks only
 * those agents again which gave none. Gives the exit code: 0, 1 if it threw or an agent gave null, 3
 * if a person has to act.
 */
export async function endOfRun(envelope: Outcome, run: EndedRun): Promise<number> {
  const { opened, parts, taken, written, isRecord } = run;
  const { stop, terminal, flags, isJson } = parts;
  if (stop.exitCode === 0) return 0;
  const isOpen = !envelope.success && envelope.resumable === true;
  const facts = await factsOf(opened, isOpen);
  const more = { run: opened.kept && displayName(opened.session), ...facts };
  const report = reportOf(isJson, terminal, more);
  // A person has seen what the script printed, as it was printed.
  const isTold = !isJson && !isRecord && !flags.quiet;
  const rest = isTold ? { ...envelope, stderr: "" } : envelope;
  const { code } = ending(rest, { rest: [], taken, opened, report, stop, written });
  if (!isOpen) await opened.reported();
  if (!isJson) tellFacts(facts, run);
  if (!isJson && !envelope.success && envelope.retry_at !== undefined) {
    terminal.stderr.line(`it may continue ${untilText(envelope.retry_at, Date.now())}`, "yellow");
  }
  return code === 0 && facts.agents.failed > 0 ? 1 : code;
}

function tellFacts({ agents, reused_from, worktrees, again }: RunFacts, { parts }: EndedRun): void {
  const { terminal, flags } = parts;
  const { stderr } = terminal;
  if (reused_from !== null && !flags.quiet) {
    // Calls that wait have no answer, and may never have been sent.
    const ended = agents.answered + agents.failed;
    const calls = amount(ended - agents.reused, "call was", "calls were");
    const answers = amount(ended, "answer is", "answers are");
    stderr.line(`${agents.reused} of ${answers} those of ${reused_from}; ${calls} made`, "dim");
  }
  for (const { call, label, path } of worktrees) {
    const who = label === null ? `call ${call}` : `call ${call} (${label})`;
    stderr.line(`the changes of ${who} are in ${path}`, "yellow");
  }
  if (again === null) return;
  // The run's own warning has said how many gave no answer.
  stderr.write(`ask only those again: ${again}\n`, "yellow");
}

async function factsOf({ session, kept, workflow }: CliSession, isOpen: boolean): Promise<RunFacts> {
  const journal = (await kept?.store.journal(session.id)) ?? [];
  const exec = describeExecs(journal.map(({ record }) => record)).findLast(({ kind }) => kind === "cell");
  const calls = (exec?.calls ?? []).filter(({ prompt }) => prompt !== null);
  const failed = calls.filter(({ status }) => status === "failed").length;
  const again =
    failed > 0 && !isOpen && workflow && kept ? [...workflow.typed, "--reuse", session.name ?? session.id] : null;
  return {
    agents: {
      made: calls.length,
      answered: calls.filter(({ status }) => status === "ok").length,
      failed,
      reused: calls.filter(({ cached, status }) => cached && status === "ok").length,
    },
    reused_from: workflow?.reuse ? await nameOf(workflow.reuse.session, kept) : null,
    worktrees: calls.flatMap(({ number, label, worktrees }) =>
      worktrees.map((path) => ({ call: number, label, path })),
    ),
    again: again && commandLine(again),
  };
}

async function nameOf(id: string, kept: CliSession["kept"]): Promise<string> {
  const row = await kept?.store.find(id).catch(() => null);
  return row ? displayName(row) : id;
}
