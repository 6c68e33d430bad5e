import { builtins, cellReference, contextNotLoaded, functionLines } from "../../../builtins/index.ts";
import { DEFAULT_ASK_MS, type Json, RlmError, remedy, THINKING_TOKENS } from "../../../runtime/index.ts";
import { loadSubCallLayer } from "../../models/index.ts";
import type { TurnProgress } from "../events.ts";
import { beginCell } from "../exec/cell.ts";
import { openRecorder } from "../exec/recorder.ts";
import { giveUpInterrupted, openWork, whileLeased } from "../exec/run-exec.ts";
import { cellRequestOf, type ExecAsked, ownBudget, resumeOf, startOf } from "../exec/work.ts";
import { interruptedIn } from "../journal/account.ts";
import type { SessionParts } from "../parts.ts";
import type { AskEnvelope, AskOptions } from "./api.ts";
import { endAsk, endingOf } from "./ends.ts";
import { askEnvelope, factsOf, pausedEnvelope, progressOf, suspendedEnvelope } from "./envelope.ts";
import type { Ending } from "./next.ts";
import { PROMPT_VERSION, systemPrompt } from "./prompt.ts";
import { type AskInput, type AskSettings, askIn, readAsk } from "./records.ts";

import { nextStep, requestFor } from "./step.ts";
import { keepReply, keepTurn, sendTurn } from "./turn.ts";

/** Asks a question about the context. @throws RlmError for what the caller got wrong; all else is an envelope */
export async function ask(setup: SessionParts, question: string, options: AskOptions): Promise<AskEnvelope> {
  const { signal, suspend, trajectory = false, budget, ...wanted } = options;
  if (!setup.state().context) throw contextNotLoaded();
  const input = await begin(question, wanted, setup);
  const id = setup.env.newId();
  await openRecorder(setup, id).commit([startOf(setup, { kind: "ask", input, ...ownBudget(budget) }, id)]); // ▣ rlm_start of the ask
  return runAsk(setup, { signal, suspend }, { isResumed: false, trajectory });
}

const DEFAULT_TURNS = 20;
const DEFAULT_TURN_TOKENS = 16_000;
const HISTORY_CHARS = 400_000;
/** Half of the model's window, at 4 characters a token. */
const CHARS_OF_WINDOW = 2;

/**
 * The input of an ask, as its first record keeps it. Its models are resolved and its schema is checked now, so that what is wrong with them is said
 * before anything is kept or sent.
 */
export async function begin(question: string, options: AskOptions, session: SessionParts): Promise<Json> {
  const { models } = session.env;
  const { depth, maxDepth } = session.rules;
  const { thinking = session.answers.thinking ?? "off" } = options;
  const max_depth = options.maxDepth ?? maxDepth;
  const root = models.resolve(options.model ?? null);
  const model = root.id;
  const window = root.window ?? (await root.askWindow?.()) ?? null;
  const sub_model = models.resolve(options.subModel ?? models.fallback ?? model).id;
  if (options.schema !== undefined) await checkSchema(options.schema);
  // The default has room for a cell beside the thinking of most levels.
  const more = THINKING_TOKENS[thinking] > THINKING_TOKENS.medium ? THINKING_TOKENS[thinking] : 0;
  const settings: AskSettings = {
    model,
    sub_model,
    protocol: options.protocol ?? "auto",
    max_turns: options.maxTurns ?? DEFAULT_TURNS,
    turn_tokens: options.turnTokens ?? DEFAULT_TURN_TOKENS + more,
    thinking,
    depth,
    max_depth,
    schema: options.schema ?? null,
    history_chars: Math.min(HISTORY_CHARS, CHARS_OF_WINDOW * (window ?? Number.POSITIVE_INFINITY)),
    prompt: PROMPT_VERSION,
  };
  const mayRecurse = depth < max_depth;
  const reference = cellReference(builtins, mayRecurse ? "explained" : "absent") + functionLines(session.functions);
  const signed = depth === 0 ? { signed: session.askModels.sign(settings) } : {};
  return { question, settings: { ...settings }, system: systemPrompt(reference, mayRecurse), ...signed };
}

/** @throws RlmError `invalid_argument` */
export async function checkSchema(schema: Json): Promise<void> {
  const { schemaProblem, taskThread } = await loadSubCallLayer();
  const refused = await schemaProblem(schema, taskThread(), new AbortController().signal);
  if (!refused) return;
  const { message, suggestion } = refused;
  throw new RlmError("invalid_argument", `the answer's ${message}`, { suggestion });
}

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

/**
 * The end of an ask that its caller cancels. The reason is kept, since it answers a call whose process ends before the call
 * is recorded.
 */
function cancelledBy({ reason }: AbortSignal): { readonly kind: "end" } & Ending {
  const by = reason instanceof RlmError ? { code: reason.code, message: reason.message } : null;
  const message = `the ask was cancelled${by ? `: ${by.message}` : ""}`;
  return { kind: "end", ok: false, code: "cancelled", message, ...(by ? { ended_by: by } : {}) };
}

/** ▣ Records that a process continues the session's open ask. Its recorded replies are not asked for again. */
async function resumeOfAsk(setup: SessionParts): Promise<void> {
  const ask = askIn(setup.state());
  const work = openWork(setup, ask.start.exec_id);
  const replies = ask.execs.filter(({ start, complete }) => start.kind === "turn" && complete?.success);
  await work.recorder.commit([resumeOf(work, setup.state().account.checkpoint, replies, [])]);
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
