import { contextNotLoaded } from "../../../builtins/index.ts";
import type { Json } from "../../../runtime/index.ts";
import { estimateTokens, loadSubCallLayer, type Model, ratesFor } from "../../models/index.ts";
import { aborted, joinSignals } from "../../platform/signals.ts";
import { partOf, readExcerptInput } from "../contexts/excerpts.ts";
import type { ExecAsked } from "../exec/work.ts";
import type { SessionState } from "../journal/account.ts";
import { type AskRecords, interruptedIn } from "../journal/account.ts";
import type { RemainingBudget } from "../journal/ledger.ts";
import { leftOf, type SessionParts } from "../parts.ts";

import { conversationOf, unitsOfMessage } from "./messages.ts";
import { type AskView, candidate, hasCalled, type Next, next, turnsDone } from "./next.ts";
import { footerOf } from "./observe.ts";
import { firstMessage } from "./prompt.ts";
import { type AskInput, askIn, type Round, readTurn, roundsOf } from "./records.ts";
import type { TurnRequest } from "./turn.ts";

/** The next step of an ask, with the output tokens that a turn may take, thinking included. */
type Step = Exclude<Next, { kind: "turn" }> | TurnStep;
type TurnStep = Extract<Next, { kind: "turn" }> & { readonly maxTokens: number };

/**
 * Waits until the budget has room for a turn, or never will, and decides by the records of the ask.
 * @param isRetry the caller already knows of the provider's failure: the turn is then sent again
 */
export async function nextStep(
  setup: SessionParts,
  ask: AskInput,
  signals: ExecAsked,
  isRetry: boolean,
): Promise<Step> {
  const { env, state } = setup;
  const { question, settings } = ask;
  // A child leaves nothing open: its caller gets the failure.
  const isChild = settings.depth > 0;
  using stop = joinSignals(signals.signal, signals.suspend);
  const rounds = roundsOf(askIn(state()));
  const left = () => leftOf(setup);
  const input = inputTokens(ask, rounds);
  const { room, scarce, turnTokens, closingTokens } = await roomOnceSettled(
    () => roomFor(input, settings.turn_tokens, left(), env.models.price(settings.model)),
    () => requestSettled(setup, stop.signal),
  );
  const judgement = await judged(settings.schema, rounds, stop.signal);
  const view: AskView = {
    settings,
    rounds,
    question: messageOf(question, settings.schema, state()),
    footer: footerOf(turnsDone(rounds), settings.max_turns, left()),
    room,
    scarce,
    ...judgement,
    isRetry: isRetry && !isChild,
  };
  // A turn that was sent goes out again as it was: another budget would put other words into it.
  const start = interruptedIn(state().account)?.start;
  const begun = start?.kind === "turn" ? readTurn(start.input) : null;
  const step = begun ? ({ kind: "turn", ...begun } as const) : (judgement.end ?? next(view));
  if (step.kind === "end" && step.ok) return { ...step, mended: view.mended };
  if (step.kind === "pause" && isChild) return { ...step, kind: "end", ok: false };
  if (step.kind !== "turn") return step;
  return { ...step, maxTokens: Math.max(1, step.closing || room !== "turn" ? closingTokens : turnTokens) };
}

/** The request of a turn, by the records of its ask. */
export function requestFor({ system, settings }: AskInput, records: AskRecords, step: TurnStep): TurnRequest {
  const { turn, messages, elide, protocol, maxTokens } = step;
  const rounds = roundsOf(records);
  return {
    system,
    // No code is run any more, so that a block may as well give the answer.
    hasCalled: !step.closing && hasCalled(rounds),
    shown: [...rounds, step].flatMap((one) => one.messages.map(({ text }) => text)),
    messages: conversationOf(rounds, { turn, messages }, elide),
    protocol,
    max_tokens: maxTokens,
    thinking: settings.thinking,
    conversation: records.start.exec_id,
  };
}

/** An observation and its frame, which the next request adds to the conversation: UTF-16 units. */
const RESERVE_UNITS = 12_000;

/** Tokens of the next request, estimated before its messages are known. */
function inputTokens({ question, system }: AskInput, rounds: readonly Round[]): number {
  const said = conversationOf(rounds, { turn: 0, messages: [] }, rounds.at(-1)?.elide ?? []);
  const units = said.reduce((sum, message) => sum + unitsOfMessage(message), question.length);
  return estimateTokens(system.length + units + RESERVE_UNITS);
}

/** Fewer tokens are not enough for a turn with a cell, and for the closing one. */
const LEAST_TURN = 1024;
const LEAST_CLOSING = 256;

/** The room of the budget, and the output tokens that the next turn may take. */
interface Room extends Pick<AskView, "room" | "scarce"> {
  readonly turnTokens: number;
  readonly closingTokens: number;
}

/**
 * Before a turn is sent, the closing turn after it must fit too: its request holds this turn's reply.
 * @param input tokens of the next request @param most output tokens of a turn, by the ask's settings
 */
export function roomFor(input: number, most: number, left: RemainingBudget, price: Model["price"]): Room {
  const paidFor = tokensFor(left.remaining_cost_usd, price, input);
  const tokens = Math.min(left.remaining_tokens, paidFor);
  const scarce = paidFor < left.remaining_tokens ? "cost_usd" : "tokens";
  const turnTokens = Math.min(most, Math.floor((tokens - 2 * input - LEAST_TURN) / 2));
  const closingTokens = Math.min(most, tokens - input);
  if (turnTokens >= Math.min(most, LEAST_TURN)) return { room: "turn", scarce, turnTokens, closingTokens };
  if (closingTokens >= Math.min(most, LEAST_CLOSING)) return { room: "closing", scarce, turnTokens: 0, closingTokens };
  return { room: "none", scarce, turnTokens: 0, closingTokens: 0 };
}

/**
 * Resolves with room for a turn, once there is some. Requests of other sessions hold more than they will take, so their ends
 * are awaited before the ask is closed.
 * @param more waits for such an end; false: nothing is held
 */
export async function roomOnceSettled(room: () => Room, more: () => Promise<boolean>): Promise<Room> {
  let now = room();
  while (now.room !== "turn" && (await more())) now = room();
  return now;
}

/** Tokens that the dollars pay for, if each had the higher of the two prices. */
function tokensFor(dollars: number | undefined, price: Model["price"], input: number): number {
  if (dollars === undefined || price === null) return Number.POSITIVE_INFINITY;
  const rates = ratesFor(price, input);
  const most = Math.max(rates.input, rates.output);
  return most === 0 ? Number.POSITIVE_INFINITY : Math.floor((dollars / most) * 1e6);
}

/** The first message of the conversation. A child's says which part of its caller's context P is. */
function messageOf(question: string, schema: Json, { account, context }: SessionState): string {
  if (!context) throw contextNotLoaded();
  const load = account.loads[0] && readExcerptInput(account.loads[0].input);
  return firstMessage(question, context.stats, schema, load ? partOf(load, context.key) : null);
}

/**
 * Resolves once a request of another session of the tree has ended, which may free budget. false: none is out, or the signal
 * has aborted.
 */
async function requestSettled({ above }: SessionParts, signal: AbortSignal): Promise<boolean> {
  const settled = above?.budget.settled() ?? null;
  if (settled === null || signal.aborted) return false;
  using joined = joinSignals(signal);
  await Promise.race([settled, aborted(joined.signal)]);
  return !signal.aborted;
}

interface Judgement extends Pick<AskView, "misfit" | "fitting" | "mended"> {
  /** The end of the ask, if no other answer would fit. */
  readonly end?: Extract<Next, { kind: "end" }>;
}

/** The judgement on an answer by the schema of the ask. It is compared in a thread that can be ended. */
async function judged(schema: Json, rounds: readonly Round[], signal: AbortSignal): Promise<Judgement> {
  const answer = candidate({ rounds });
  if (schema === null || answer === null) return { misfit: null, fitting: undefined };
  const { taskThread, valueIn } = await loadSubCallLayer();
  const { value, isText } = answer;
  const shown = rounds.flatMap(({ messages }) => messages.map((message) => message.text));
  // A cell may give a value, or the JSON of one.
  const readings = [
    ...(isText ? [] : [{ text: JSON.stringify(value), shown: null }]),
    ...(typeof value === "string" ? [{ text: value, shown }] : []),
  ];
  let misfit: string | undefined;
  for (const reading of readings) {
    const read = await valueIn(reading, schema, taskThread(), signal);
    if (read.ok) return { misfit: null, fitting: read.value, mended: read.mended };
    misfit ??= "error" in read ? read.error.message : read.problems.join("; ");
    if ("isFinal" in read) {
      // The model could only give another figure.
      const message = `the answer does not fit the schema: ${misfit}`;
      return { misfit, fitting: undefined, end: { kind: "end", ok: false, code: "schema_mismatch", message } };
    }
  }
  return { misfit: misfit ?? null, fitting: undefined };
}
