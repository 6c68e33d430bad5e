import type { GivenAnswer, Json } from "../../../runtime/index.ts";
import type { AskLimit, EndedBy } from "../journal/records.ts";
import type { Protocol } from "./api.ts";
import { elided, halved, saidIn } from "./messages.ts";
import * as notes from "./prompt.ts";
import type { AddedMessage, AskSettings, FailedTurn, Round, TurnInput } from "./records.ts";
import { type AskedCell, type Doubt, isCellAlone, literalAnswer, type Reply } from "./reply.ts";
import { isVariable, unfilledIn } from "./unfilled.ts";

/** An ask as its records tell it, with what its driver knows at this moment. */
export interface AskView {
  readonly settings: AskSettings;
  readonly rounds: readonly Round[];
  /** The first message of the conversation. */
  readonly question: string;
  /** The line under observations: turns done and what is left of the budget. */
  readonly footer: string;
  /** The room of the budget: for a turn and the closing turn after it, for the closing turn alone, or for none. */
  readonly room: "turn" | "closing" | "none";
  /** The limit that is the scarcer one in that room. */
  readonly scarce: "tokens" | "cost_usd";
  /** Why the answer that {@link candidate} gives does not fit the schema; null if it fits, or without a schema. */
  readonly misfit: string | null;
  /** The value in that answer that fits the schema; undefined without a schema: the answer is then taken as it is. */
  readonly fitting: Json | undefined;
  /** Kinds of what was put right in the text of that value; undefined: nothing was. */
  readonly mended?: readonly string[] | undefined;
  /** True if the caller already knows of the provider's failure. The turn is then sent again. */
  readonly isRetry: boolean;
}

/** The next step of an ask. */
export type Next =
  | ({ readonly kind: "turn" } & TurnInput)
  | { readonly kind: "cell"; readonly source: string }
  /** The provider failed for longer than retries take. The ask stays open. */
  | { readonly kind: "pause"; readonly code: string; readonly message: string }
  | ({ readonly kind: "end" } & Ending);

export type Ending =
  | {
      readonly ok: true;
      readonly answered_by: "answer" | "text" | "closing";
      readonly answer: GivenAnswer;
      readonly warnings: readonly string[];
      /** Kinds of what was put right in its text; undefined: nothing was. */
      readonly mended?: readonly string[] | undefined;
    }
  | {
      readonly ok: false;
      readonly code: string;
      readonly message: string;
      readonly ended_by?: EndedBy;
      /** The limits that left no room for it. */
      readonly limits?: readonly AskLimit[];
    };

/** Failed replies in a row that end an ask. */
const FAILED_REPLIES = 3;
/** Failed cells in a row after which the model has to answer. */
const FAILED_CELLS = 5;
/** Turns in a row with one cell and one output: the second gets a note, after the third the model has to answer. */
const SAME_TURNS = 3;

/** A reply that the window of the model had no room for. */
const WINDOW_FULL = "window_full";

/** Failures of a reply: it is not run and not in the conversation, and its usage is charged. */
const REPLY_FAILURES: ReadonlySet<string> = new Set([
  ...["empty_answer", "truncated_answer", WINDOW_FULL, "content_filtered", notes.UNREAD],
]);

/** The provider refused a request with tools. */
export const TOOLS_REFUSED = "tools_refused";

/** The provider refused a request that was longer than the model's window. */
export const TOO_LONG = "request_too_long";

/** The next step: a pure function of the records and of the view's few facts. */
export function next(ask: AskView): Next {
  const last = ask.rounds.at(-1);
  if (!last) return turnWith(ask, [user(ask.question)]);
  if (!last.outcome.ok) return afterFailure(ask, last.outcome);
  const reply = last.outcome.reply.read;
  if (last.closing) return closed(ask, reply);
  const full = last.cells.at(-1)?.full ?? null;
  if (full !== null) return { kind: "end", ok: false, code: "store_full", message: full };
  const source = cellToRun(reply, last);
  if (source !== null) return { kind: "cell", source };
  return reply.cells.length > 0 ? afterCells(ask, last, reply) : afterText(ask, reply);
}

/** The value that a cell gave to `answer`, or the text of a reply. */
interface Candidate extends GivenAnswer {
  readonly isText: boolean;
}

/** The answer that the last round gives, which the driver checks against the schema before it asks for what comes next. */
export function candidate({ rounds }: Pick<AskView, "rounds">): Candidate | null {
  const last = rounds.at(-1);
  if (!last?.outcome.ok) return null;
  const reply = last.outcome.reply.read;
  const given = last.closing ? literalAnswer(reply) : last.cells.at(-1)?.answer;
  if (given && reply.cells.length > 0) return { ...given, isText: false };
  // A call is never a text: in the closing turn it says nothing, and before it runs.
  const isText = last.closing ? !isCall(reply) : reply.cells.length === 0;
  const text = isText ? textOf(reply) : undefined;
  return text === undefined ? null : { value: text, cite: null, isText: true };
}

/** True for a reply of the closing turn that asks for a cell, and gives no answer. */
function isCall(reply: Reply): boolean {
  const { isInText = false, doubt } = reply;
  return isInText || isCellAlone(reply) || doubt?.kind === "call" || doubt?.kind === "code";
}

function afterFailure(ask: AskView, { code, message }: FailedTurn): Next {
  if (code === TOOLS_REFUSED) return turnWith(ask, []);
  if (code === TOO_LONG) return afterTooLong(ask, message);
  if (code === "cancelled" || code === "budget_exceeded") return { kind: "end", ok: false, code, message };
  if (!REPLY_FAILURES.has(code)) return ask.isRetry ? turnWith(ask, []) : { kind: "pause", code, message };
  const replies = ask.rounds.filter(({ outcome }) => outcome.ok || REPLY_FAILURES.has(outcome.code));
  if (replies.slice(-FAILED_REPLIES).filter(({ outcome }) => !outcome.ok).length === FAILED_REPLIES) {
    const last = `${FAILED_REPLIES} replies in a row failed; the last: ${message}`;
    return code === WINDOW_FULL ? { kind: "end", ok: false, code, message: last } : noAnswer(last);
  }
  const again = turnWith(ask, [user(notes.failedReply(code, ask.settings.turn_tokens))]);
  return code === WINDOW_FULL && again.kind === "turn" ? { ...again, elide: shorter(ask, again) } : again;
}

/** The turn is asked for again without its oldest observations: once, as the shorter request is half as long. */
function afterTooLong(ask: AskView, message: string): Next {
  const again = turnWith(ask, []);
  if (again.kind !== "turn") return again;
  const before = ask.rounds.at(-1)?.elide ?? [];
  const elide = shorter(ask, again);
  const lastReply = ask.rounds.findLastIndex(({ outcome }) => outcome.ok);
  const refusals = ask.rounds.slice(lastReply + 1).filter(({ outcome }) => !outcome.ok && outcome.code === TOO_LONG);
  if (refusals.length === 1 && elide.length > before.length) return { ...again, elide };
  return ask.isRetry ? again : { kind: "pause", code: TOO_LONG, message };
}

/** The turns whose observations are left out so that a request is half as long as it would be. */
function shorter({ rounds }: AskView, again: TurnInput): readonly number[] {
  return halved(saidIn(rounds, again), rounds.at(-1)?.elide ?? []);
}

function closed(ask: AskView, reply: Reply): Next {
  const { rounds, misfit, fitting } = ask;
  const given = candidate(ask);
  const why = whyClosed(ask);
  if (given === null) {
    const isCell = reply.cells.length > 0 || isCall(reply);
    const what = isCell ? "gave a call in place of an answer" : "gave no text as its answer";
    return noAnswer(`${why ?? SPENT}, and the model ${what}`);
  }
  if (misfit !== null) return noAnswer(`${why ?? SPENT}, and the answer does not fit the schema: ${misfit}`);
  const value = fitting ?? given.value;
  const open = unfilled(ask, value);
  const step = reply.doubt?.kind === "step" ? [`answer_unsure: ${notes.UNSURE.step}`] : [];
  const warnings = [
    ...(hasLooked(rounds) ? [] : ["answered_without_looking"]),
    ...step,
    ...(open ? [open.warning] : []),
  ];
  const spent = why === null ? "turns_spent" : `turns_spent: ${why}`;
  return answered("closing", { value, cite: given.cite }, [spent, ...warnings]);
}

const SPENT = "the turns are spent";

/** Why the model had to answer before its turns were spent; null: they were. */
function whyClosed({ rounds, settings }: Pick<AskView, "rounds" | "settings">): string | null {
  const before = rounds.filter(({ closing }) => !closing);
  if (sameTurns(before) >= SAME_TURNS) return `${SAME_TURNS} turns in a row did the same`;
  if (failedCells(before) >= FAILED_CELLS) return `${FAILED_CELLS} cells in a row failed`;
  return turnsDone(before) < settings.max_turns ? "the budget had room for the answer alone" : null;
}

/** The source of the next cell that a reply asks for; null: all have run, or one has failed or answered. */
function cellToRun(reply: Reply, { cells }: Round): string | null {
  for (const [at, { asked }] of reply.cells.entries()) {
    const ran = cells[at];
    if (!asked.ok) return null;
    if (!ran) return asked.source;
    if (!ran.success || ran.answer) return null;
  }
  return null;
}

function afterCells(ask: AskView, round: Round, reply: Reply): Next {
  const last = round.cells.at(-1);
  const answer = last?.answer;
  if (last && answer) {
    if (isUnseen(ask, last.source, answer.value)) {
      return turnWith(ask, observed(round, reply, [notes.answeredUnseen], ask.footer));
    }
    if (ask.misfit !== null) return turnWith(ask, observed(round, reply, [notes.misfit(ask.misfit)], ask.footer));
    const value = ask.fitting ?? answer.value;
    const open = unfilled(ask, value);
    if (open && !isTold(round, open.note)) return turnWith(ask, observed(round, reply, [open.note], ask.footer));
    const more = reply.cells.length - round.cells.length;
    const unrun = more > 0 ? [`answer_unsure: ${notes.behind(more)}`] : [];
    return answered("answer", { ...answer, value }, [...unrun, ...(open ? [open.warning] : [])]);
  }
  const isSame = sameTurns(ask.rounds) === SAME_TURNS - 1;
  return turnWith(ask, observed(round, reply, isSame ? [notes.sameAgain] : [], ask.footer));
}

/** The reason why an answer may not be whole. */
interface Open {
  /** The question about it, which the model gets once. */
  readonly note: string;
  readonly warning: string;
}

/** The part of an answer that stands for something else; null: there is none. */
function unfilled({ rounds, fitting }: Pick<AskView, "rounds" | "fitting">, value: Json): Open | null {
  const sources = rounds.flatMap(({ cells }) => cells.map(({ source }) => source));
  // A value that fits a schema, such as one of its words, is meant as it stands.
  if (fitting === undefined && isVariable(value, sources)) {
    const name = String(value);
    return { note: notes.unfilled(name, true), warning: `answer_unsure: ${name} is the name of a variable` };
  }
  const part = unfilledIn(value, saidTo(rounds));
  return part === null
    ? null
    : { note: notes.unfilled(part, false), warning: `answer_unsure: nothing has filled in ${part}` };
}

/** The texts that the model was shown, without Belay's question about such a part. */
const saidTo = (rounds: readonly Round[]) =>
  rounds.flatMap(({ messages }) =>
    messages.flatMap(({ text }) => text.split("\n").filter((line) => !line.startsWith(notes.ABOUT_ANSWER))),
  );

const isTold = ({ messages }: Pick<Round, "messages">, note: string) =>
  messages.some(({ text }) => text.includes(note));

/** The first answer of an ask that stands literally in the code of its cell: the model has not seen what it claims. */
function isUnseen({ rounds }: AskView, source: string, value: Json): boolean {
  if (hasLooked(rounds.slice(0, -1))) return false;
  return source.includes(JSON.stringify(value)) || (typeof value === "string" && source.includes(value));
}

function afterText(ask: AskView, reply: Reply): Next {
  const isSeen = hasLooked(ask.rounds);
  const { doubt } = reply;
  if (doubt !== null && !isAnswerAnyway(ask, doubt)) {
    return turnWith(ask, [user(told(ask, notes.doubted(doubt, hasCalled(ask.rounds))))]);
  }
  // Without a schema a text with a block was told of its block, not of its haste.
  const hasty = ["plain", "code", "step", ...(ask.settings.schema === null ? [] : ["block"])];
  const wasNudged = ask.rounds.slice(0, -1).some((round) => hasty.includes(textAlone(round) ?? ""));
  if (!isSeen && !wasNudged) return turnWith(ask, [user(told(ask, notes.nudge))]);
  if (ask.misfit !== null) return turnWith(ask, [user(told(ask, notes.misfit(ask.misfit)))]);
  const value = ask.fitting ?? textOf(reply) ?? "";
  const open = unfilled(ask, value);
  const last = ask.rounds.at(-1);
  if (open && last && !isTold(last, open.note)) return turnWith(ask, [user(told(ask, open.note))]);
  const unsure = doubt && doubt.kind !== "block" ? [`answer_unsure: ${notes.UNSURE[doubt.kind]}`] : [];
  const warnings = [...(isSeen ? [] : ["answered_without_looking"]), ...unsure, ...(open ? [open.warning] : [])];
  return answered("text", { value, cite: null }, warnings);
}

/**
 * True for a text that is the answer although it may not be meant as one: it fits the schema, or the model stays with it. A call
 * never is, and a block only after a look.
 */
function isAnswerAnyway({ rounds, settings, misfit }: AskView, { kind, detail }: Doubt): boolean {
  if (kind === "call") return false;
  if (settings.schema !== null && (misfit === null || detail === "json")) return true;
  const before = rounds.at(-2);
  return (kind !== "block" || hasLooked(rounds)) && before !== undefined && textAlone(before) === kind;
}

/** True if a reply of the ask had a native call. */
export function hasCalled(rounds: readonly Round[]): boolean {
  return rounds.some(({ outcome }) => outcome.ok && outcome.reply.toolUses.length > 0);
}

/** The next turn with these messages: the closing one if turns or budget are spent, or if the model goes in circles. */
function turnWith(ask: AskView, messages: readonly AddedMessage[]): Next {
  const { rounds, settings, room, scarce } = ask;
  if (room === "none") {
    const message = "the budget does not allow another turn";
    return { kind: "end", ok: false, code: "budget_exceeded", message, limits: [scarce] };
  }
  const done = turnsDone(rounds);
  const isStuck = sameTurns(rounds) >= SAME_TURNS || failedCells(rounds) >= FAILED_CELLS;
  const limits: AskLimit[] = room === "closing" ? [scarce] : [];
  if (done >= settings.max_turns) limits.push("turns");
  const closing = limits.length > 0 || isStuck;
  const isLast = !closing && done + 1 === settings.max_turns;
  const note = closing ? notes.closing(settings.schema !== null) : isLast ? notes.lastWithCode : null;
  const added = { turn: done + 1, messages: note === null ? messages : withNote(messages, note, rounds) };
  const elide = elided(saidIn(rounds, added), rounds.at(-1)?.elide ?? [], settings.history_chars);
  const turn = { kind: "turn", ...added, closing, protocol: protocolOf(ask), elide } as const;
  return limits.length === 0 ? turn : { ...turn, limits };
}

/** Turns that a reply came to, whether it could be used or not. */
export function turnsDone(rounds: readonly Round[]): number {
  return rounds.filter(({ outcome }) => outcome.ok || REPLY_FAILURES.has(outcome.code)).length;
}

function protocolOf({ settings, rounds }: AskView): Protocol {
  if (settings.protocol !== "auto") return settings.protocol;
  const isRefused = rounds.some(({ outcome }) => !outcome.ok && outcome.code === TOOLS_REFUSED);
  return isRefused ? "fence" : "tools";
}

/** The observations of a round: one message for each tool call, or one of the user. */
function observed(round: Round, reply: Reply, remarks: readonly string[], footer: string): readonly AddedMessage[] {
  const seen = reply.cells.map((cell, at) => ({ use: cell.use, ...observationOf(cell, round, at) }));
  const tail = [...remarks, footer].join("\n");
  return seen.map(({ use, text, isError }, at) => {
    const whole = at === seen.length - 1 ? `${text}\n${tail}` : text;
    return use === null ? user(whole) : { role: "tool", use, text: whole, isError };
  });
}

function observationOf({ asked }: AskedCell, { cells }: Round, at: number): { text: string; isError: boolean } {
  const ran = cells[at];
  if (ran) return { text: ran.observation, isError: !ran.success };
  const before = cells.at(-1);
  const isFirstProblem = !asked.ok && at === cells.length && (before?.success ?? true) && !before?.answer;
  if (isFirstProblem) return { text: `not run: ${asked.problem}`, isError: true };
  return { text: `not run: the cell before it ${before?.answer ? "answered" : "failed"}`, isError: true };
}

/** A turn that is asked for again adds nothing to what the failed one has said. */
function withNote(messages: readonly AddedMessage[], note: string, rounds: readonly Round[]): readonly AddedMessage[] {
  const last = messages.at(-1);
  const said = rounds.flatMap((round) => round.messages).at(-1);
  if (!last && said?.text.endsWith(note)) return messages;
  if (!last) return [user(note)];
  return [...messages.slice(0, -1), { ...last, text: `${last.text}\n${note}` }];
}

const user = (text: string): AddedMessage => ({ role: "user", text });
const told = ({ footer }: AskView, note: string) => `${note}\n${footer}`;

function textOf({ text }: Reply): string | undefined {
  const trimmed = text.trim();
  return trimmed === "" ? undefined : trimmed;
}

function answered(by: "answer" | "text" | "closing", answer: GivenAnswer, warnings: readonly string[]): Next {
  return { kind: "end", ok: true, answered_by: by, answer, warnings };
}

const noAnswer = (message: string): Next => ({ kind: "end", ok: false, code: "no_answer", message });

/** The kind of a reply without a cell: a text, or why it may not be the answer; null if it had one, or if it failed. */
function textAlone({ outcome }: Round): "plain" | Doubt["kind"] | null {
  if (!outcome.ok) return null;
  const { cells, doubt } = outcome.reply.read;
  if (cells.length > 0) return null;
  return doubt?.kind ?? "plain";
}

/** True if a cell has succeeded: the model has seen something. */
function hasLooked(rounds: readonly Round[]): boolean {
  return rounds.some(({ cells }) => cells.some(({ success }) => success));
}

/** The number of turns at the end that ran the same cells with the same output, or said the same without a cell. */
function sameTurns(rounds: readonly Round[]): number {
  const ran = rounds.filter(({ outcome }) => outcome.ok);
  const last = keyOf(ran.at(-1));
  if (last === null) return 0;
  const different = ran.toReversed().findIndex((round) => keyOf(round) !== last);
  return different < 0 ? ran.length : different;
}

function keyOf(round: Round | undefined): string | null {
  if (!round?.outcome.ok) return null;
  if (textAlone(round) !== null) return JSON.stringify(round.outcome.reply.text);
  if (round.cells.length === 0) return null;
  return JSON.stringify(round.cells.map(({ source, observation }) => [source, observation]));
}

/** The number of failed cells at the end. One that could not be run counts: it was not JavaScript, or not of the tool. */
function failedCells(rounds: readonly Round[]): number {
  const cells = rounds.flatMap(successesOf).toReversed();
  const succeeded = cells.indexOf(true);
  return succeeded < 0 ? cells.length : succeeded;
}

function successesOf(round: Round): readonly boolean[] {
  const { outcome, cells } = round;
  if (!outcome.ok) return [];
  const ran = cells.map(({ success }) => success);
  const reply = outcome.reply.read;
  const isUnrunnable = reply.cells[cells.length]?.asked.ok === false && !ran.includes(false);
  const isNotRun = ["block", "call"].includes(textAlone(round) ?? "");
  return isUnrunnable || isNotRun ? [...ran, false] : ran;
}
