import { firstly, RlmError, remedy } from "../../runtime/index.ts";
import { amount } from "../platform/figures.ts";
import { joinSignals } from "../platform/signals.ts";
import { sleep } from "../platform/sleep.ts";
import { collectAnswers, shippingPace } from "../shipping/index.ts";
import type { Resumed, WaitOptions } from "./api.ts";
import type { AskEnvelope, AskOptions } from "./ask/api.ts";
import { ask } from "./ask/ask.ts";
import { runAsk } from "./ask/loop.ts";
import { type CellRequest, cellRequestOf, type ExecAsked } from "./exec/request.ts";
import { runCell } from "./exec/run-exec.ts";
import { interruptedIn, openAskIn } from "./journal/account.ts";
import type { ExecEnvelope, ExecFailure, QueryEnvelope } from "./journal/envelope.ts";
import type { Parked } from "./parking.ts";
import { hasWaited, type ProviderWait, providerWait } from "./provider-wait.ts";
import { resume } from "./resume.ts";
import type { Setup } from "./setup.ts";

type Envelope = ExecEnvelope | AskEnvelope | QueryEnvelope;

/** The fields of an envelope that say what its exec waits for. */
type NotOver = Required<Pick<ExecFailure, "error_code" | "error_message" | "suggestion" | "waits">>;

/** Runs a cell, and goes on with it as long as only providers keep it from its end. */
export async function execToItsEnd(
  setup: Setup,
  request: CellRequest,
  options: ExecAsked & WaitOptions,
): Promise<ExecEnvelope> {
  const work: Work<ExecEnvelope> = async (asked, isFirst) => {
    if (isFirst) return runCell(setup, request, asked);
    const interrupted = interruptedIn(setup.state().account);
    if (!interrupted) throw new Error("another exec");
    return runCell(setup, cellRequestOf(interrupted.start), asked, interrupted);
  };
  const { answer, notOver } = await untilDelivered(setup, options, work, (envelope) => envelope);
  return told(answer, notOver);
}

/** Asks a question, and goes on with it as long as only providers keep its cells from their end. */
export async function askToItsEnd(setup: Setup, question: string, options: AskOptions): Promise<AskEnvelope> {
  const goesOn = { isResumed: true, trajectory: options.trajectory === true };
  const work: Work<AskEnvelope> = (asked, isFirst) =>
    isFirst ? ask(setup, question, { ...options, ...asked }) : runAsk(setup, asked, goesOn);
  const { answer, notOver } = await untilDelivered(setup, options, work, (envelope) => envelope);
  return told(answer, notOver);
}

/** Finishes what was interrupted. A request that has not left goes as the session's calls go now. */
export async function resumeToItsEnd(
  setup: Setup,
  options: ExecAsked & WaitOptions,
  trajectory: boolean,
): Promise<Resumed | null> {
  const { above, env, options: own, row, state } = setup;
  const isUnfinished = openAskIn(state().account) || interruptedIn(state().account);
  if (isUnfinished && own.delivery !== "batch" && !above) {
    await env.store.shipping.giveUp({ root: row.id }, "unsent");
  }
  const work: Work<Resumed | null> = (asked) => resume(setup, asked, trajectory);
  const { answer, notOver } = await untilDelivered(setup, options, work, (resumed) => resumed?.envelope ?? null);
  if (answer?.kind === "ask") return { ...answer, envelope: told(answer.envelope, notOver) };
  return answer?.envelope ? { ...answer, envelope: told(answer.envelope, notOver) } : answer;
}

/** An envelope that says what is waited for. The cell of an exec was stopped, and has no error of its own. */
function told<E extends Envelope>(envelope: E, notOver: NotOver | null): E {
  if (!notOver || envelope.success) return envelope;
  if (!("traceback" in envelope)) return { ...envelope, ...notOver };
  const error_name = notOver.error_code === "waits_for_provider" ? "WaitsForProvider" : "SubCallError";
  return { ...envelope, ...notOver, error_name, traceback: `${error_name}: ${notOver.error_message}` };
}

/** The work of an exec. Called again it goes on with it. */
type Work<A> = (asked: ExecAsked, isFirst: boolean) => Promise<A>;

/**
 * Runs work of a session. If all that is left of it waits for providers' batches, sends these, takes in the answers and runs it again,
 * which goes on with it. Work of a job or of a child is given back: whoever opened its session waits.
 *
 * @returns its last answer, and why it is not over if providers are the reason
 */
async function untilDelivered<A>(
  setup: Setup,
  { wait_ms = Number.POSITIVE_INFINITY, resendDoubtful = false, ...asked }: ExecAsked & WaitOptions,
  work: Work<A>,
  endIn: (answer: A) => Envelope | null,
): Promise<{ readonly answer: A; readonly notOver: NotOver | null }> {
  const { parking, hasOwnParking, above } = setup;
  // The call that a child answers counts as active already.
  if (above) return { answer: await work(asked, true), notOver: null };
  if (!hasOwnParking) return { answer: await parking.active(() => work(asked, true)), notOver: null };
  for (let isFirst = true; ; isFirst = false) {
    const parked = new AbortController();
    const stuck: RlmError[] = [];
    parking.begin((reason) => {
      stuck.push(...problemsOf(reason));
      parked.abort();
    });
    using suspend = joinSignals(asked.suspend, parked.signal);
    const answer = await parking.active(() => work({ ...asked, suspend: suspend.signal }, isFirst));
    const end = endIn(answer);
    if (!end || end.success || !end.resumable || !parked.signal.aborted) return { answer, notOver: null };
    const { waits, problem } = await collected(setup, { wait_ms, resendDoubtful, ...asked }, stuck);
    if (waits.length > 0 || problem) return { answer, notOver: notOver(waits, problem) };
  }
}

type Waiting = { readonly [key in keyof WaitOptions]-?: NonNullable<WaitOptions[key]> };

/** Collects until the session waits for nothing, its time is over or something hinders it. Returns what it still waits for. */
async function collected(
  { env, root }: Setup,
  { wait_ms, resendDoubtful, signal, suspend }: Waiting & Pick<ExecAsked, "signal" | "suspend">,
  stuck: readonly RlmError[],
): Promise<{ readonly waits: readonly ProviderWait[]; readonly problem: RlmError | null }> {
  const { store, models, clock, random } = env;
  const over = new AbortController();
  using stop = joinSignals(over.signal, signal, suspend);
  const endMs = clock.monotonic() + wait_ms;
  let hasLooked = false;
  // Accounts of other sessions may be hindered too.
  const problems = new Map<string, RlmError>();
  const failures = new Map<string, RlmError>();
  const collecting = collectAnswers(
    {
      ...{ store, models, clock, random, resendsDoubtful: resendDoubtful },
      answered() {},
      looked() {
        hasLooked = true;
      },
      hindered: (account, error) => void problems.set(account, error),
      failing(account, error) {
        if (!failures.has(account)) env.emit({ kind: "notice", text: `${error.message}. ${error.suggestion}` });
        failures.set(account, error);
      },
    },
    stop.signal,
  );
  try {
    for (;;) {
      const open = await store.shipping.waits({ root: root.session });
      const waits = open.map(providerWait);
      const [problem = null] = [...stuck, ...open.flatMap(({ account }) => problems.get(account) ?? [])];
      env.emit({ kind: "waits", waits });
      if (waits.length === 0 || stop.signal.aborted || problem) return { waits, problem };
      // Calls that could not leave are nothing that a provider has to answer.
      const [failed = null] = open.flatMap(({ account, batch }) =>
        batch === null ? (failures.get(account) ?? []) : [],
      );
      const overMs = clock.monotonic() - endMs;
      if (hasWaited(waits, overMs, hasLooked) || (failed && overMs >= 0)) return { waits, problem: failed };
      await Promise.race([sleep(clock, LOOK_MS * shippingPace(), stop.signal), collecting]);
    }
  } finally {
    over.abort();
    // A request that hangs does not keep the caller: what it comes to is looked for later.
    collecting.catch(() => {});
    await Promise.race([collecting, sleep(clock, STOP_MS, new AbortController().signal)]);
  }
}

/** Reasons other than a provider: somebody has to act. */
function problemsOf(reason: Parked): RlmError[] {
  if (reason.why === "trouble") {
    const { code, message, suggestion } = reason.error;
    return [new RlmError(code, message, { suggestion })];
  }
  if (reason.why === "damaged") return [reason.error];
  if (reason.why !== "store_failed") return [];
  return [new RlmError("store_failed", "a request by batch could not be kept", { suggestion: TRY_AGAIN })];
}

const TRY_AGAIN = `Cure the store, for example a full disk; then ${remedy("resume")}.`;

const LOOK_MS = 500;
const STOP_MS = 2000;

function notOver(waits: readonly ProviderWait[], problem: RlmError | null): NotOver {
  const calls = waits.reduce((sum, wait) => sum + wait.calls, 0);
  const batches = waits.map(({ provider, batch }) => (batch === null ? provider : `${provider} ${batch}`)).join(", ");
  return {
    error_code: problem?.code ?? "waits_for_provider",
    error_message: problem?.message ?? `${amount(calls, "call waits", "calls wait")} for ${batches}`,
    suggestion: problem?.suggestion ?? `${firstly("resume")}: nothing is asked for twice.`,
    waits,
  };
}
