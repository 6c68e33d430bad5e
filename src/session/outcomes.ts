import type { Resumed } from "./api.ts";
import type { AskEnvelope } from "./ask/api.ts";
import type { ExecOutcome } from "./exec/request.ts";
import { leftOf } from "./exec/work.ts";
import { cellFiles } from "./journal/account.ts";
import { type EnvelopeFacts, type ExecEnvelope, envelope, queryEnvelope } from "./journal/envelope.ts";
import type { ExecRecords } from "./journal/exec-records.ts";
import type { Start } from "./journal/records.ts";
import type { Setup } from "./setup.ts";

type Session = Pick<Setup, "row" | "rules" | "above" | "state">;

/** The envelope of a cell. @param name the file of a cell that is in no journal */
export function envelopeOf(session: Session, outcome: ExecOutcome, name?: string): ExecEnvelope {
  if (!("complete" in outcome)) throw new Error("a cell gave another outcome");
  const facts = factsOf(session, outcome.unfinished);
  const own = name === undefined ? [] : [[session.state().account.cells + 1, name] as const];
  return envelope(outcome.complete, { ...facts, files: new Map([...facts.files, ...own]) });
}

/** The answer of `resume` for an exec that it has finished. */
export function finished(session: Session, start: Start, outcome: ExecOutcome): Resumed {
  return resumed("finished", start, "complete" in outcome ? envelopeOf(session, outcome) : null);
}

/** The answer of `resume` for an exec that is over: the outcome that the journal has. */
export function replayed(session: Session, last: ExecRecords | null): Resumed | null {
  if (!last?.complete) return null;
  const { complete, start } = last;
  const { end, state } = complete;
  const isCell = end !== null && state !== null;
  return resumed("replayed", start, isCell ? envelope({ ...complete, end, state }, factsOf(session, false)) : null);
}

function resumed(how: Resumed["how"], { kind, rest }: Start, answer: ExecEnvelope | null): Resumed {
  if (kind === "ask") throw new Error("an ask is not an exec");
  const goesOn = answer === null || answer.success;
  return { how, kind, envelope: answer && kind === "query" ? queryEnvelope(answer) : answer, rest: goesOn ? rest : [] };
}

function factsOf(session: Session, unfinished: boolean): Required<EnvelopeFacts> {
  const files = cellFiles(session.state().account);
  return { session_id: session.row.id, budget: leftOf(session), unfinished, files };
}

/** The answer of `resume` for an ask. */
export function askResumed(how: Resumed["how"], answer: AskEnvelope): Resumed {
  return { how, kind: "ask", envelope: answer, rest: [] };
}

/** The question of an ask, by its first record. */
export function questionOf({ input }: Start): string {
  const question: unknown = typeof input === "object" && input !== null ? Reflect.get(input, "question") : undefined;
  return typeof question === "string" ? question : "";
}
