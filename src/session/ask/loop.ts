import { DEFAULT_ASK_MS, RlmError, remedy } from "../../../runtime/index.ts";
import type { TurnProgress } from "../events.ts";
import { beginCell } from "../exec/cell.ts";
import { cellRequestOf, type ExecAsked } from "../exec/request.ts";
import { giveUpInterrupted, whileLeased } from "../exec/run-exec.ts";
import { interruptedIn } from "../journal/account.ts";
import type { SessionParts } from "../parts.ts";
import type { AskEnvelope } from "./api.ts";
import { cancelledBy, endAsk, endingOf, resumeOfAsk } from "./ends.ts";
import { askEnvelope, factsOf, pausedEnvelope, progressOf, suspendedEnvelope } from "./envelope.ts";
import { type AskInput, askIn, readAsk } from "./records.ts";
import { nextStep, requestFor } from "./step.ts";
import { keepReply, keepTurn, sendTurn } from "./turn.ts";

/**
 * Runs an ask to its end, or to the point where it is suspended. The next step follows from the ask's records alone, so
 * continuing after a crash is the same loop: `nextStep` gives a turn or cell that was interrupted again.
 *
 * @param isResumed an earlier call, perhaps in another process, has begun the ask
 */
export async function runAsk(
  setup: SessionParts,
  asked: ExecAsked,
  { isResumed, trajectory }: { readonly isResumed: boolean; readonly trajectory: boolean },
): Promise<AskEnvelope> {
  const { env, state } = setup;
  const ask = readAsk(askIn(state()));
  if (isResumed) refuseForeign(setup, ask);
  const model = env.models.resolve(ask.settings.model);
  const timed = withTimeOfAsk(setup);
  const facts = () => factsOf(setup, askIn(state()), trajectory);
  const report = (phase: TurnProgress["phase"]) => env.emit({ kind: "turn", ...progressOf(askIn(state()), phase) });

  return whileLeased(setup, asked, async (signals) => {
    const { signal, suspend } = signals;
    if (isResumed) await resumeOfAsk(setup); // ▣ rlm_resume of the ask
    for (let isFirst = true; ; isFirst = false) {
      if (suspend?.aborted) return suspendedEnvelope(facts());
      const interrupted = interruptedIn(state().account);
      const step = signal?.aborted ? cancelledBy(signal) : await nextStep(timed, ask, signals, isResumed && isFirst);
      switch (step.kind) {
        case "turn": {
          report("asked");
          const request = requestFor(ask, askIn(state()), step);
          const turn = await keepTurn(timed, step, interrupted); // ▣ rlm_start + rlm_tool_call
          const reply = await sendTurn(turn, model, request, signals); // only now
          if (suspend?.aborted) return suspendedEnvelope(facts());
          await keepReply(turn, reply); // ▣ rlm_tool_result + rlm_complete
          report("replied");
          break;
        }
        case "cell": {
          const request = interrupted
            ? cellRequestOf(interrupted.start)
            : ({ kind: "cell", source: step.source, limits: {}, ask: askIn(state()).start.exec_id } as const);
          const cell = { ...timed, answers: setup.answersBy(ask.settings) };
          const envelope = await beginCell(cell, request, signals, interrupted);
          if (!envelope.success && envelope.resumable) return suspendedEnvelope(facts(), envelope);
          report("ran");
          break;
        }
        case "pause":
          return pausedEnvelope(facts(), step);
        case "end":
          await giveUpInterrupted(setup);
          await endAsk(setup, endingOf(setup, ask, step)); // ▣ rlm_complete of the ask
          return askEnvelope(facts());
      }
    }
  });
}

/** An ask has more time than a cell would, unless the caller has set a limit: its turns count. */
function withTimeOfAsk(setup: SessionParts): SessionParts {
  const { above, options, rules } = setup;
  const max_time_ms = above?.limits.max_time_ms ?? options.budget?.max_time_ms ?? DEFAULT_ASK_MS;
  const { budget, question } = rules;
  if (question) return { ...setup, rules: { ...rules, question: { ...question, max_time_ms } } };
  return { ...setup, rules: { ...rules, budget: { ...budget, max_time_ms } } };
}

/** A child has the models of the ask or cell that has made it. @throws RlmError `settings_untrusted` */
function refuseForeign({ askModels }: SessionParts, { settings, signed = null }: AskInput): void {
  const foreign = settings.depth > 0 ? null : askModels.foreign(settings, signed);
  if (foreign === null) return;
  const problem = `the ask names the model ${foreign}, which is not one of yours. Nothing was sent`;
  const suggestion = `To ask it, ${remedy("nameModel")} with this name; else ${remedy("discard")}.`;
  throw new RlmError("settings_untrusted", problem, { suggestion });
}
