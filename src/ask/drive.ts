import { type Json, RlmError, remedy } from "../../runtime/index.ts";
import { estimateTokens, loadSubCallLayer } from "../model/index.ts";
import { joinSignals } from "../platform/signals.ts";
import { type AskEnvelope, type AskHost, type ExecAsked, sleep, type TurnTaken } from "../session/index.ts";
import { citationsCapped, citationsOf } from "./cite.ts";
import { conversationOf } from "./conversation.ts";
import { unitsOfMessage } from "./elide.ts";
import { askEnvelope, pausedEnvelope, progressOf, suspendedEnvelope, wayOf } from "./envelope.ts";
import { type AskView, type Candidate, candidate, type Ending, type Next, next, turnsDone } from "./next.ts";
import { footerOf } from "./observe.ts";
import { firstMessage } from "./prompt.ts";
import { type AskInput, readAsk, readTurn, roundsOf, turnInput } from "./records.ts";
import { type Room, roomFor, roomOnceSettled } from "./room.ts";
import type { Round } from "./rounds.ts";
import { takeTurn } from "./turn.ts";

/**
 * Drives an ask: what comes next follows from its records alone, so going on after a crash is the same loop. An exec that
 * was interrupted is finished first, since its turn or cell is what `next` asks for again.
 */
export async function drive(host: AskHost, asked: ExecAsked, isResumed: boolean): Promise<AskEnvelope> {
  const ask = readAsk(host.records());
  if (isResumed) refuseForeign(host, ask);
  host.models.resolve(ask.settings.model);
  if (isResumed) await host.goOn();
  // A child leaves nothing open: its caller gets the failure.
  const isChild = ask.settings.depth > 0;
  let isRetry = isResumed && !isChild;
  using stop = joinSignals(asked.signal, asked.suspend);
  for (;;) {
    if (asked.suspend?.aborted) return suspendedEnvelope(host);
    if (asked.signal?.aborted) return cancel(host, asked.signal);
    const { step, room } = await nextOf(host, ask, { isRetry, signal: stop.signal });
    isRetry = false;
    switch (step.kind) {
      case "turn":
        if (!(await turn(host, ask, step, room, asked))) return suspendedEnvelope(host);
        break;
      case "cell": {
        const envelope = await host.cell(step.source, ask.settings, asked);
        if (!envelope.success && envelope.resumable) return suspendedEnvelope(host, envelope);
        host.onTurn(progressOf(host, "ran"));
        break;
      }
      case "pause":
        return isChild ? end(host, ask, { ...step, ok: false }) : pausedEnvelope(host, step);
      case "end":
        return end(host, ask, step);
    }
  }
}

/** A child has the models of the ask or cell that has made it. @throws RlmError `settings_untrusted` */
function refuseForeign({ askModels }: AskHost, { settings, signed = null }: AskInput): void {
  const foreign = settings.depth > 0 ? null : askModels.foreign(settings, signed);
  if (foreign === null) return;
  const problem = `the ask names the model ${foreign}, which is not one of yours. Nothing was sent`;
  const suggestion = `To ask it, ${remedy("nameModel")} with this name; else ${remedy("discard")}.`;
  throw new RlmError("settings_untrusted", problem, { suggestion });
}

/** The reason is kept: a call whose process ends before it is recorded is answered by it. */
async function cancel(host: AskHost, { reason }: AbortSignal): Promise<AskEnvelope> {
  const ended_by = reason instanceof RlmError ? { code: reason.code, message: reason.message } : null;
  const error_message = `the ask was cancelled${ended_by ? `: ${ended_by.message}` : ""}`;
  await host.end({ ...FAILED, error_code: "cancelled", error_message, ...(ended_by ? { ended_by } : {}) });
  return askEnvelope(host);
}

const FAILED = { success: false, answer: null };

async function nextOf(
  host: AskHost,
  { question, settings, system }: AskInput,
  { isRetry, signal }: { readonly isRetry: boolean; readonly signal: AbortSignal },
): Promise<{ readonly step: Next; readonly room: Room }> {
  const rounds = roundsOf(host.records());
  const { stats } = host.context;
  const said = conversationOf(rounds, { turn: 0, messages: [] }, rounds.at(-1)?.elide ?? []);
  const units = said.reduce((sum, message) => sum + unitsOfMessage(message), question.length);
  const input = estimateTokens(system.length + units + RESERVE_UNITS);
  const price = host.models.price(settings.model);
  const room = await roomOnceSettled(
    () => roomFor(input, settings.turn_tokens, host.budget(), price),
    () => host.moreBudget(signal),
  );
  const view: AskView = {
    settings,
    rounds,
    question: firstMessage(question, { stats, schema: settings.schema, part: host.part }),
    footer: footerOf(turnsDone(rounds), settings.max_turns, host.budget()),
    room: room.room,
    ...(await judged(settings.schema, candidate({ rounds }), signal)),
    isRetry,
  };
  // A turn that was sent goes out again as it was: another budget would put other words into it.
  const begun = host.begunTurn();
  return { step: begun === null ? next(view) : { kind: "turn", ...readTurn(begun) }, room };
}

/** An observation and its frame, which the next request adds to the conversation: UTF-16 units. */
const RESERVE_UNITS = 12_000;

/** Whether an answer fits the schema of the ask. It is compared in a thread that can be ended. */
async function judged(
  schema: Json,
  answer: Candidate | null,
  signal: AbortSignal,
): Promise<Pick<AskView, "misfit" | "fitting">> {
  if (schema === null || answer === null) return { misfit: null, fitting: undefined };
  const { taskThread, valueIn } = await loadSubCallLayer();
  const { value, isText } = answer;
  const readings = [...(isText ? [] : [JSON.stringify(value)]), ...(typeof value === "string" ? [value] : [])];
  let misfit: string | undefined;
  // A cell may give a value, or the JSON of one.
  for (const text of readings) {
    const read = await valueIn(text, schema, taskThread(), signal);
    if (read.ok) return { misfit: null, fitting: read.value };
    misfit ??= "error" in read ? read.error.message : read.problems.join("; ");
  }
  return { misfit: misfit ?? null, fitting: undefined };
}

/** false: the turn was suspended. */
async function turn(
  host: AskHost,
  { settings, system }: AskInput,
  { turn, closing, protocol, messages, elide }: Extract<Next, { kind: "turn" }>,
  room: Room,
  asked: ExecAsked,
): Promise<boolean> {
  const rounds = roundsOf(host.records());
  const { exec_id } = host.records().start;
  const model = host.models.resolve(settings.model);
  const request = {
    system,
    messages: conversationOf(rounds, { turn, messages }, elide),
    protocol,
    maxTokens: Math.max(1, closing || room.room !== "turn" ? room.closingTokens : room.turnTokens),
    thinking: settings.thinking,
    conversation: exec_id,
  };
  host.onTurn(progressOf(host, "asked"));
  const isOver = await host.turn(
    {
      kind: "turn",
      ask: exec_id,
      input: turnInput({ turn, closing, protocol, messages, elide }),
      async take({ budget, signal }): Promise<TurnTaken> {
        const parts = {
          model,
          budget,
          clock: host.clock,
          random: host.random,
          sleep: (ms: number, until: AbortSignal) => sleep(host.clock, ms, until),
        };
        const { outcome, usage, attempts, sent_at } = await takeTurn(request, parts, signal);
        const spent = { usage, attempts, model: model.id, ...(sent_at === null ? {} : { sent_at }) };
        return outcome.ok ? { ...spent, ok: true, value: replyJson(outcome.reply) } : { ...spent, ...outcome };
      },
    },
    asked,
  );
  if (isOver) host.onTurn(progressOf(host, "replied"));
  return isOver;
}

type Reply = Extract<Round["outcome"], { ok: true }>["reply"];

const replyJson = (reply: Reply): Json => JSON.parse(JSON.stringify(reply));

async function end(host: AskHost, { settings }: AskInput, ending: Ending): Promise<AskEnvelope> {
  const { ok } = ending;
  if (!ok) await host.end({ ...FAILED, error_code: ending.code, error_message: ending.message });
  else {
    const { answer, answered_by, warnings } = ending;
    const citations = citationsOf(answer.cite, host.context).map((one) => ({ ...one }));
    const notices = settings.depth === 0 ? host.noticesOf([settings.model, settings.sub_model]) : [];
    const told = [...warnings, ...citationsCapped(answer.cite), ...notices];
    const recorded = { value: answer.value, answered_by, citations, warnings: told, ...wayOf(host.records()) };
    await host.end({ success: true, error_code: null, error_message: null, answer: recorded });
  }
  return askEnvelope(host);
}
