import { firstly, RlmError, remedy } from "../../runtime/index.ts";
import { amount } from "../platform/figures.ts";
import { withoutUndefined } from "../platform/json.ts";
import { joinSignals } from "../platform/signals.ts";
import { collectUntil, hasWaited, type ProviderWait, providerWait, type Seen } from "../provider-batches/index.ts";
import type { Resumed } from "./api.ts";
import type { AskEnvelope, AskOptions } from "./ask/api.ts";
import { ask, runAsk } from "./ask/ask.ts";
import { askEnvelope, factsOf } from "./ask/envelope.ts";
import { askIn } from "./ask/records.ts";
import { beginCell } from "./exec/cell.ts";
import { loadRequestOf, runLoad } from "./exec/load.ts";
import { runCommand } from "./exec/run-exec.ts";
import { cellRequestOf, type ExecAsked } from "./exec/work.ts";
import { type Account, interruptedIn, openAskIn } from "./journal/account.ts";
import {
  cellIn,
  type ExecEnvelope,
  type ExecFailure,
  envelope,
  type QueryEnvelope,
  queryEnvelope,
} from "./journal/envelope.ts";
import type { ExecRecords } from "./journal/exec-records.ts";
import type { Start } from "./journal/records.ts";
import type { WaitOptions } from "./option-types.ts";
import { envelopeFacts, type SessionParts } from "./parts.ts";
import { type HeldBack, heldBackCure, heldBackProblem } from "./sub-calls/held-back.ts";
import type { Suspension, SuspensionReason } from "./suspension.ts";

type Envelope = ExecEnvelope | AskEnvelope | QueryEnvelope;

/** The fields of an envelope that say what its exec waits for. */
type NotOver = Required<Pick<ExecFailure, "error_code" | "error_message" | "suggestion" | "waits">> &
  Pick<ExecFailure, "held_back" | "retry_at">;

/** A problem that a person has to act on, and the time at which it may go away by itself. */
interface Problem {
  readonly error: RlmError;
  /** ms since the epoch. Absent: it is not known. */
  readonly retry_at?: number;
}

/** Runs a cell, and continues it as long as only providers keep it from its end. @param begin begins the cell */
export async function runExecToEnd(
  setup: SessionParts,
  options: ExecAsked & WaitOptions,
  begin: (asked: ExecAsked) => Promise<ExecEnvelope>,
): Promise<ExecEnvelope> {
  const work = async (asked: ExecAsked, isFirst: boolean) => {
    if (isFirst) return { envelope: await begin(asked) };
    const interrupted = interruptedIn(setup.state().account);
    if (!interrupted) throw new Error("another exec");
    return { envelope: await beginCell(setup, cellRequestOf(interrupted.start), asked, interrupted) };
  };
  return (await untilDelivered(setup, options, work)).envelope;
}

/** Asks a question, and continues it as long as only providers keep its cells from their end. */
export async function runAskToEnd(setup: SessionParts, question: string, options: AskOptions): Promise<AskEnvelope> {
  const goesOn = { isResumed: true, trajectory: options.trajectory === true };
  const work = async (asked: ExecAsked, isFirst: boolean) => ({
    envelope: await (isFirst ? ask(setup, question, { ...options, ...asked }) : runAsk(setup, asked, goesOn)),
  });
  return (await untilDelivered(setup, options, work)).envelope;
}

/**
 * Finishes what was interrupted. A request that has not left goes as the session's calls go now.
 */
export async function resumeToEnd(
  setup: SessionParts,
  options: ExecAsked & WaitOptions,
  trajectory: boolean,
): Promise<Resumed | null> {
  const { above, env, options: own, row, state } = setup;
  const isUnfinished = openAskIn(state().account) || interruptedIn(state().account);
  if (isUnfinished && own.delivery !== "batch" && !above) {
    await env.store.batches.giveUp({ root: row.id }, "unsent");
  }
  return untilDelivered(setup, options, (asked) => resume(setup, asked, trajectory));
}

/**
 * An envelope that says what is waited for. The cell of an exec was stopped, and has no error of
 * its own.
 */
function told(envelope: Envelope, notOver: NotOver): Envelope {
  if (!("traceback" in envelope)) return { ...envelope, ...notOver };
  const error_name = notOver.error_code === "waits_for_provider" ? "WaitsForProvider" : "SubCallError";
  return { ...envelope, ...notOver, error_name, traceback: `${error_name}: ${notOver.error_message}` };
}

/**
 * Runs work of a session. If all that is left of it waits for provider batches, sends these,
 * takes in the answers and runs it again, which continues it. Work of a job or of a child is
 * given back: whoever opened its session waits.
 *
 * @param work of an exec. Called again it continues it
 * @returns its last answer. If providers are the reason why it is not over, its envelope says so
 */
async function untilDelivered<A extends { readonly envelope: Envelope | null } | null>(
  setup: SessionParts,
  { wait_ms = Number.POSITIVE_INFINITY, resendDoubtful = false, ...asked }: ExecAsked & WaitOptions,
  work: (asked: ExecAsked, isFirst: boolean) => Promise<A>,
): Promise<A> {
  const { suspension, hasOwnSuspension, above } = setup;
  // The call that a child answers counts as active already.
  if (above) return work(asked, true);
  if (!hasOwnSuspension) {
    const answer = await suspension.active(() => work(asked, true));
    const heldBack = suspension.heldBack();
    if (heldBack) setup.env.emit({ kind: "held_back", held_back: heldBack });
    return answer;
  }
  for (let isFirst = true; ; isFirst = false) {
    const suspended = new AbortController();
    const stuck: RlmError[] = [];
    suspension.begin((reason) => {
      stuck.push(...problemsOf(reason));
      suspended.abort();
    }, resendDoubtful);
    using suspend = joinSignals(asked.suspend, suspended.signal);
    const answer = await suspension.active(() => work({ ...asked, suspend: suspend.signal }, isFirst));
    const end = answer?.envelope;
    if (!answer || !end || end.success || !end.resumable || !suspended.signal.aborted) return answer;
    const heldBack = suspension.heldBack();
    if (heldBack) setup.env.emit({ kind: "held_back", held_back: heldBack });
    const problems = [...waitingFor(suspension), ...stuck.map((error) => ({ error }))];
    const { waits, problem } = await collected(setup, { wait_ms, resendDoubtful, ...asked }, problems);
    if (waits.length > 0 || problem) return { ...answer, envelope: told(end, notOver(waits, problem, heldBack)) };
  }
}

/**
 * Collects until the session waits for nothing, its time has run out or something hinders it.
 * Returns what it still waits for.
 */
async function collected(
  { env, root }: SessionParts,
  wait: { readonly wait_ms: number; readonly resendDoubtful: boolean } & Pick<ExecAsked, "signal" | "suspend">,
  stuck: readonly Problem[],
): Promise<{ readonly waits: readonly ProviderWait[]; readonly problem: Problem | null }> {
  const { store, models, clock, random } = env;
  const { wait_ms, resendDoubtful, signal, suspend } = wait;
  using stop = joinSignals(signal, suspend);
  const endMs = clock.monotonic() + wait_ms;
  async function look({ hasLooked, hindered, failing }: Seen) {
    const open = await store.batches.waits({ root: root.session });
    const waits = open.map(providerWait);
    // Accounts of other sessions may be hindered too.
    const others = open.flatMap(({ account }) => hindered.get(account) ?? []);
    const [problem = null] = [...stuck, ...others.map((error) => ({ error }))];
    env.emit({ kind: "waits", waits });
    if (waits.length === 0 || stop.signal.aborted || problem) return { waits, problem };
    // Calls that could not leave are nothing that a provider has to answer.
    const unsent = open.filter(({ batch }) => batch === null);
    const [failed = null] = unsent.flatMap(({ account }) => failing.get(account) ?? []);
    const overMs = clock.monotonic() - endMs;
    const isOver = hasWaited(waits, overMs, hasLooked) || (failed && overMs >= 0);
    return isOver ? { waits, problem: failed && { error: failed } } : null;
  }
  const own = { store, models, clock, random, resendsDoubtful: resendDoubtful };
  const failing = (_account: string, { message, suggestion }: RlmError) =>
    env.emit({ kind: "notice", text: `${message}. ${suggestion}` });
  return await collectUntil({ ...own, look, lookMs: LOOK_MS, stopMs: STOP_MS, failing }, stop.signal);
}

/** The problem that calls wait for until a person acts, as the journal has it too. */
function waitingFor(suspension: Suspension): Problem[] {
  const waits = suspension.waitsFor();
  if (!waits) return [];
  const { code, message, suggestion, retry_at } = waits;
  return [{ error: new RlmError(code, message, { suggestion }), ...withoutUndefined({ retry_at }) }];
}

/** Reasons other than a provider and a call: the store. */
function problemsOf(reason: SuspensionReason): RlmError[] {
  if (reason.why === "damaged") return [reason.error];
  if (reason.why !== "store_failed") return [];
  return [new RlmError("store_failed", "a request by provider batch could not be kept", { suggestion: TRY_AGAIN })];
}

const TRY_AGAIN = `Cure the store, for example a full disk; then ${remedy("resume")}.`;

const LOOK_MS = 500;
const STOP_MS = 2000;

function notOver(waits: readonly ProviderWait[], problem: Problem | null, heldBack: HeldBack | null): NotOver {
  if (problem) {
    const { code, message, suggestion } = problem.error;
    const { retry_at } = problem;
    return { error_code: code, error_message: message, suggestion, waits, ...withoutUndefined({ retry_at }) };
  }
  const calls = waits.reduce((sum, wait) => sum + wait.calls, 0);
  const batches = waits.map(({ provider, batch }) => (batch === null ? provider : `${provider} ${batch}`)).join(", ");
  const message = `${amount(calls, "call waits", "calls wait")} for ${batches}`;
  const resume = `${firstly("resume")}: nothing is asked for twice.`;
  const error_code = "waits_for_provider";
  if (!heldBack) return { error_code, error_message: message, suggestion: resume, waits };
  return {
    error_code,
    error_message: `${message}; ${heldBackProblem(heldBack)}`,
    suggestion: `${heldBackCure(heldBack)}. ${resume}`,
    waits,
    held_back: heldBack,
  };
}

/** Finishes what was interrupted, else answers with the record of what ended last; null: nothing has run. */
async function resume(setup: SessionParts, asked: ExecAsked, trajectory: boolean): Promise<Resumed | null> {
  const { account } = setup.state();
  const open = openAskIn(account);
  const interrupted = interruptedIn(account);
  if (open || (!interrupted && isNewest(account))) {
    const answer = open
      ? await runAsk(setup, asked, { isResumed: true, trajectory })
      : askEnvelope(factsOf(setup, askIn(setup.state()), trajectory));
    return { how: open ? "finished" : "replayed", kind: "ask", envelope: answer, rest: [] };
  }
  if (interrupted) return resumed(setup, "finished", interrupted.start, await finished(setup, asked, interrupted));
  const { last } = account;
  if (!last?.complete) return null;
  const cell = cellIn(last.complete);
  return resumed(setup, "replayed", last.start, cell && envelope(cell, envelopeFacts(setup, account, false)));
}

/** True if nothing has run since the newest ask ended. */
function isNewest({ ask, last }: Account): boolean {
  return ask?.complete != null && (!last || last.start.ask === ask.start.exec_id);
}

/** Finishes an exec. Answers the envelope of its cell; null for kinds that run none. */
async function finished(setup: SessionParts, asked: ExecAsked, interrupted: ExecRecords): Promise<ExecEnvelope | null> {
  const { kind, input } = interrupted.start;
  switch (kind) {
    case "cell":
    case "query":
      return beginCell(setup, cellRequestOf(interrupted.start), asked, interrupted);
    case "load":
    case "append":
      await runLoad(setup, loadRequestOf(kind, input, setup), interrupted);
      return null;
    case "memory":
    case "helpers":
      await runCommand(setup, { kind, input }, interrupted);
      return null;
    default:
      throw new Error("an ask goes on by itself");
  }
}

function resumed(
  { state }: Pick<SessionParts, "state">,
  how: Resumed["how"],
  { kind, input, rest }: Start,
  answer: ExecEnvelope | null,
): Resumed {
  if (kind === "ask") throw new Error("an ask is not an exec");
  const goesOn = answer === null || answer.success;
  const skips = state().context?.stats.skipped ?? null;
  const envelope = answer && kind === "query" ? queryEnvelope(answer, skips) : answer;
  return { how, kind, input, envelope, rest: goesOn ? rest : [] };
}
