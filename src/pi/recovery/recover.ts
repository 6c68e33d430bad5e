import { closeSync, fstatSync, fsyncSync, openSync, readSync, writeSync } from "node:fs";
import { RlmError } from "../../../runtime/index.ts";
import { amount } from "../../platform/figures.ts";
import { ROOT_CALL } from "../../session/index.ts";
import type { Signals, Tool, ToolEnvelope } from "../../tools/index.ts";
import type { BranchView, Unanswered } from "../branch/entries.ts";
import { completeEntry } from "../branch/mirror.ts";
import { appendMessage, type PiContext, type ToolResultMessage } from "../host.ts";
import { type OnBranch, runAtHead, toolNamed } from "../on-branch.ts";
import type { Opened } from "../opened/opened.ts";
import { tallyOf } from "../runs/board.ts";
import { leftRunIn } from "../runs/left.ts";
import { outcomeOf, type RunOutcome } from "../runs/runs.ts";
import { harmless } from "../view/texts.ts";
import { inPi } from "../wording.ts";
import { type RecordedExec, recordedAnswer, recordedExec, restOf } from "./recorded.ts";

interface Recovering extends OnBranch {
  /** Its open parts. */
  readonly current: Opened;
}

/** The fate of a call that had no result. */
type Recovered =
  | {
      readonly how: "recorded" | "finished" | "again";
      readonly outcome: RunOutcome;
      /** Turns of an ask and answers to sub-calls that were recorded when the process ended. */
      readonly kept?: { readonly turns: number; readonly answers: number };
    }
  | { readonly how: "held"; readonly holder: string };

/**
 * Finishes the interrupted calls of the branch.
 *
 * @returns true if the turn can continue by a call at the branch's end, and the user wants Pi to
 * continue by itself
 */
export async function recover(branch: OnBranch): Promise<boolean> {
  const seen = branch.view();
  if (!seen.isUsed) return false;
  const current = await branch.opened();
  const count = await recoverCalls({ ...branch, current }, seen);
  await branch.refresh();
  return count > 0 && current.settings.auto_continue === true;
}

/**
 * Gives calls of our tools that an earlier process began, and that have no result, their real one:
 * what the store has is put in place, what is unfinished is finished (semantics 34, 35).
 *
 * @returns how many calls at the branch's end were answered, by which the turn can continue
 */
async function recoverCalls(parts: Recovering, { unanswered }: BranchView): Promise<number> {
  const notify: PiContext["ui"]["notify"] = (text, type) => parts.context().ui.notify(text, type);
  let atTail = 0;
  for (const call of unanswered) {
    const tool = toolNamed(call.tool);
    if (!tool) continue;
    try {
      const recovered = await recoverCall(parts, tool, call);
      if (!recovered) continue;
      if (recovered.how === "held") {
        notify(`${tool.name} is being finished by ${harmless(recovered.holder)}; it is left to it`, "warning");
        continue;
      }
      const isTail = insert(parts, call, recovered.outcome);
      if (isTail) atTail += 1;
      // If the turn has continued since, every start would say the same.
      if (isTail || recovered.how !== "recorded") notify(lineOf(tool, recovered, call), "info");
    } catch (error) {
      if (parts.runs.hasLeft()) return atTail;
      const said = error instanceof RlmError ? `${error.message}. ${inPi(error.suggestion)}` : String(error);
      notify(`${tool.name} was interrupted and could not be finished: ${harmless(said)}`, "error");
    }
  }
  return atTail;
}

async function recoverCall(parts: Recovering, tool: Tool, call: Unanswered): Promise<Recovered | null> {
  const exec = await newestExec(parts, call);
  const left = exec && !exec.complete ? leftRunIn(exec.session) : undefined;
  if (left) {
    await left.done;
    return recoverCall(parts, tool, call);
  }
  if (exec?.complete) {
    mirrorEnd(parts, exec);
    // The result that Pi has says so already.
    if (call.isStopped && exec.complete.error_code === "cancelled") return null;
    const goneOn = call.isTail ? await goOn(parts, tool, call, exec) : null;
    if (goneOn) return { how: "finished", outcome: goneOn };
    const answer = await recordedAnswer(parts.current.store, tool, call.args, exec);
    const { session, records, complete } = exec;
    const facts = { session, exec_id: complete.exec_id, calls: tallyOf(records), elapsed_ms: 0, recovered: true };
    return answer && { how: "recorded", outcome: outcomeOf(tool, answer, facts) };
  }
  if (!call.isTail) return null;
  if (!exec) {
    const { tool_call_id, args } = call;
    const again = { tool_call_id, args, signal: undefined };
    return { how: "again", outcome: await runAtHead(parts, tool, again, "recovering") };
  }
  const holder = await holderOf(parts, exec.session);
  if (holder !== null) return { how: "held", holder };
  return finish(parts, tool, call, exec);
}

/** The newest of a call's execs that the store has. */
async function newestExec({ current }: Recovering, { starts }: Unanswered): Promise<RecordedExec | null> {
  for (const { session, exec_id } of starts.toReversed()) {
    const exec = await recordedExec(current.store, session, exec_id, current.budget);
    if (exec) return exec;
  }
  return null;
}

/** The other living process that holds the session; null if there is none. */
async function holderOf({ current }: Recovering, session: string): Promise<string | null> {
  if (current.sessions.current()?.id === session) return null;
  const row = await current.store.find(session);
  if (!row?.busy) return null;
  return row.holder ? `process ${row.holder.pid} on ${row.holder.host}` : "another process";
}

async function finish(
  parts: Recovering,
  tool: Tool,
  call: Unanswered,
  { session: id, records }: RecordedExec,
): Promise<Recovered> {
  const { tool_call_id, args } = call;
  const { store, sessions, budget } = parts.current;
  const exec_id = records[0]?.exec_id ?? "";
  const work = async (signals: Signals): Promise<ToolEnvelope> => {
    const session = await sessions.interrupted(id);
    // A load or a change of memory that fails rejects; it has ended then, and its record says how.
    const isOpen = session.unfinished()?.exec_id === exec_id;
    const history = isOpen ? await parts.conversations.before(exec_id) : null;
    const [resumed] = await Promise.allSettled([history && session.resume({ ...signals, history })]);
    const finished = await recordedExec(store, id, exec_id, budget);
    const rest = finished && (await restOf(store, tool, args, finished));
    if (rest) return rest(session);
    const answer = finished && (await recordedAnswer(store, tool, args, finished));
    if (answer) return answer;
    if (resumed.status === "rejected") throw resumed.reason;
    const envelope = resumed.value?.envelope;
    const said = envelope && !envelope.success ? envelope.error_message : `the exec ${exec_id} is not over`;
    throw new RlmError("exec_unfinished", said, { suggestion: "Start Pi on this session again." });
  };
  const run = { tool, tool_call_id, args, cwd: parts.context().cwd, signal: undefined };
  const outcome = await parts.runs.run(run, "recovering", work);
  const exec = await recordedExec(store, id, exec_id, budget);
  const details = { ...outcome.details, session: id, exec_id, calls: tallyOf(exec?.records ?? []) };
  const results = records.filter((record) => record.record === "rlm_tool_result");
  const turns = results.filter(({ name }) => name === ROOT_CALL).length;
  const kept = { turns, answers: results.length - turns };
  return { how: "finished", outcome: { ...outcome, details }, kept };
}

/** Does what is left of a call after the exec that has ended; null: nothing. */
async function goOn(
  { current, runs, context, view }: Recovering,
  tool: Tool,
  { tool_call_id, args }: Unanswered,
  exec: RecordedExec,
): Promise<RunOutcome | null> {
  const rest = await restOf(current.store, tool, args, exec);
  if (!rest) return null;
  const { head } = view();
  const work = async () => rest(await current.sessions.at(head, false));
  return runs.run({ tool, tool_call_id, args, cwd: context().cwd, signal: undefined }, "recovering", work);
}

/** The process may have died between the store's commit and the entry that mirrors it. */
function mirrorEnd({ actions, view }: Recovering, { complete, session, checkpoint }: RecordedExec): void {
  const { completed, starts } = view();
  // The branch may have continued from another state since.
  if (!complete || completed.has(complete.exec_id) || starts.at(-1)?.exec_id !== complete.exec_id) return;
  actions.appendEntry("rlm_complete", completeEntry(session, complete, checkpoint));
}

/**
 * Puts a result into what the model is sent, and into the session if the branch still ends with the
 * call and Pi has no result of its own. Returns whether it ends with the call.
 */
export function insert(
  { answers, clock, context, view }: Pick<OnBranch, "answers" | "clock" | "context" | "view">,
  call: Unanswered,
  { text, details }: RunOutcome,
): boolean {
  const message: ToolResultMessage = {
    role: "toolResult",
    toolCallId: call.tool_call_id,
    toolName: call.tool,
    content: [{ type: "text", text }],
    details,
    isError: !details.envelope.success,
    timestamp: clock.now(),
  };
  answers.set(call.key, message);
  const isTail = view().unanswered.some(({ key, isTail }) => isTail && key === call.key);
  if (isTail && !call.isStopped) appendMessage(context().sessionManager, message);
  return isTail;
}

function lineOf(
  { name }: Tool,
  { how, outcome, kept = { turns: 0, answers: 0 } }: Extract<Recovered, { outcome: RunOutcome }>,
  { isStopped }: Pick<Unanswered, "isStopped">,
): string {
  const code = outcome.details.envelope.error_code;
  const end = typeof code === "string" ? ` (${code})` : "";
  if (how === "recorded" && isStopped) return `${name} ended after Pi had left it; its result is in place${end}`;
  if (how === "recorded") return `${name} had ended before Pi did; its result is in place${end}`;
  const calls = outcome.details.calls.count;
  const parts = [
    ...(kept.turns > 0 ? [amount(kept.turns, "turn")] : []),
    ...(calls > 0 ? [`${kept.answers} of ${calls} sub-calls`] : []),
  ];
  const told = parts.length > 0 ? `: ${parts.join(" and ")} had their answers already` : "";
  return `${name} was interrupted, and is finished now${told}${end}`;
}

const NEWLINE = 0x0a;

/**
 * Ends a session file that breaks off in the middle of a line, as a process leaves it that died
 * while it wrote: Pi 0.73 would join the next entry to the rest, and lose all that came before.
 */
export function endTornLine(path: string | undefined): void {
  if (path === undefined) return;
  let file: number;
  try {
    file = openSync(path, "r+");
  } catch {
    // Not written yet, or not ours to write.
    return;
  }
  try {
    const { size } = fstatSync(file);
    const last = Buffer.alloc(1);
    if (size === 0 || readSync(file, last, 0, 1, size - 1) !== 1 || last[0] === NEWLINE) return;
    writeSync(file, "\n", size);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
