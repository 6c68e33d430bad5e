import { contextNotLoaded } from "../../builtins/index.ts";
import { DEFAULT_ASK_MS } from "../../runtime/index.ts";
import { aborted, joinSignals } from "../platform/signals.ts";
import type { AskEnding, AskEnvelope, AskHost, AskOptions } from "./asks.ts";
import { partOf, readExcerptInput } from "./contexts/excerpts.ts";
import { beginAsk, endAsk, GIVEN_UP, resumeOfAsk } from "./exec/ask-records.ts";
import { type ExecAsked, requestOf } from "./exec/request.ts";
import { discard, runExec } from "./exec/run-exec.ts";
import { leftOf } from "./exec/work.ts";
import { type AskRecords, interruptedIn, openAskIn } from "./journal/account.ts";
import { envelopeOf } from "./outcomes.ts";
import type { Setup } from "./setup.ts";

/** Asks a question about the context. @throws RlmError for what the caller got wrong; all else is an envelope */
export async function ask(setup: Setup, question: string, options: AskOptions): Promise<AskEnvelope> {
  const asks = await setup.asks();
  const { signal, suspend, trajectory = false, ...wanted } = options;
  const { models, askModels, depth, maxDepth } = setup;
  const { thinking = "off" } = setup.parts.answers;
  if (!setup.state().context) throw contextNotLoaded();
  const input = await asks.begin(question, wanted, { models, askModels, depth, maxDepth, thinking });
  await beginAsk(setup.parts, setup.state(), input);
  const asked = { ...(signal ? { signal } : {}), ...(suspend ? { suspend } : {}) };
  return asks.drive(hostOf(setup, trajectory), asked, false);
}

/** Goes on with the ask that was interrupted: first with its exec that was, then with what comes next. */
export async function resumeAsk(setup: Setup, asked: ExecAsked, trajectory: boolean): Promise<AskEnvelope> {
  const asks = await setup.asks();
  return asks.drive(hostOf(setup, trajectory), asked, true);
}

/** The answer of the newest ask, which is over. */
export async function recordedAsk(setup: Setup, trajectory: boolean): Promise<AskEnvelope> {
  const { session_id, records, budget } = hostOf(setup, trajectory);
  return (await setup.asks()).recorded({ session_id, records, budget, trajectory });
}

/** Ends what was interrupted as cancelled: an exec, and the ask that is open. */
export async function discardInterrupted(setup: Setup): Promise<void> {
  const { parts, state } = setup;
  await giveUpInterrupted(setup);
  if (!openAskIn(state().account)) return;
  await endAsk(parts, state(), GIVEN_UP);
}

async function giveUpInterrupted({ parts, state }: Setup): Promise<void> {
  const interrupted = interruptedIn(state().account);
  if (!interrupted) return;
  await parts.guest.end();
  await discard(parts, state(), interrupted);
}

function hostOf(setup: Setup, trajectory: boolean): AskHost {
  const { row, models, askModels, state } = setup;
  const max_time_ms = setup.parts.above?.limits.max_time_ms ?? setup.options.budget?.max_time_ms ?? DEFAULT_ASK_MS;
  const parts = { ...setup.parts, budget: { ...setup.parts.budget, max_time_ms } };
  return {
    session_id: row.id,
    models,
    askModels,
    trajectory,
    clock: parts.clock,
    random: parts.random,
    get context() {
      const { context } = state();
      if (!context) throw contextNotLoaded();
      return context;
    },
    get part() {
      const { account, context } = state();
      const load = account.loads[0] && readExcerptInput(account.loads[0].input);
      return load && context ? partOf(load, context.key) : null;
    },
    records: () => recordsOf(setup),
    budget: () => leftOf(parts, state()),
    async moreBudget(signal) {
      const settled = parts.above?.budget.settled() ?? null;
      if (settled === null || signal.aborted) return false;
      using joined = joinSignals(signal);
      await Promise.race([settled, aborted(joined.signal)]);
      return !signal.aborted;
    },
    begunTurn() {
      const start = interruptedIn(state().account)?.start;
      return start?.kind === "turn" ? start.input : null;
    },
    async turn(request, asked) {
      const interrupted = interruptedIn(state().account);
      const outcome = await runExec(parts, state(), request, asked, interrupted);
      return !("unfinished" in outcome && outcome.unfinished);
    },
    async cell(source, settings, asked) {
      const interrupted = interruptedIn(state().account);
      const { exec_id } = recordsOf(setup).start;
      const request = interrupted
        ? requestOf(interrupted.start, setup.granted, setup.loading)
        : ({ kind: "cell", source, limits: {}, ask: exec_id } as const);
      const lent = { ...parts, answers: setup.answersBy(settings) };
      return envelopeOf(setup, await runExec(lent, state(), request, asked, interrupted));
    },
    goOn: () => resumeOfAsk(parts, state()),
    async end(ending: AskEnding) {
      await giveUpInterrupted(setup);
      await endAsk(parts, state(), ending);
    },
    noticesOf: (models) => setup.parts.answers.noticesOf?.(models, true) ?? [],
    onTurn: (progress) => setup.options.onProgress?.({ kind: "turn", ...progress }),
  };
}

function recordsOf({ state }: Setup): AskRecords {
  const { ask } = state().account;
  if (!ask) throw new Error("the session has no ask");
  return ask;
}
