import type { Round } from "./records.ts";
import { readReply } from "./reply.ts";

/** The kind of a reply without a cell: a text, or one with a block in another language; null if it had one, or if it failed. */
export function textAlone({ outcome }: Round): "plain" | "with a block" | null {
  if (!outcome.ok) return null;
  const { cells, foreign } = readReply(outcome.reply);
  if (cells.length > 0) return null;
  return foreign === null ? "plain" : "with a block";
}

/** True if a cell has succeeded: the model has seen something. */
export function hasLooked(rounds: readonly Round[]): boolean {
  return rounds.some(({ cells }) => cells.some(({ success }) => success));
}

/** The number of turns at the end that ran the same cells with the same output, or said the same without a cell. */
export function sameTurns(rounds: readonly Round[]): number {
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
export function failedCells(rounds: readonly Round[]): number {
  const cells = rounds.flatMap(successesOf).toReversed();
  const succeeded = cells.indexOf(true);
  return succeeded < 0 ? cells.length : succeeded;
}

function successesOf(round: Round): readonly boolean[] {
  const { outcome, cells } = round;
  if (!outcome.ok) return [];
  const ran = cells.map(({ success }) => success);
  const reply = readReply(outcome.reply);
  const isUnrunnable = reply.cells[cells.length]?.asked.ok === false && !ran.includes(false);
  return isUnrunnable || textAlone(round) === "with a block" ? [...ran, false] : ran;
}
