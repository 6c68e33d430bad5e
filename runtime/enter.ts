import type { Thrown } from "./cells/traceback.ts";
import { parseThrown, readThrown } from "./ends.ts";
import { type Entered, MachineFault } from "./engine.ts";
import { isErrorCode, RlmError } from "./errors.ts";
import type { Guest } from "./guest.ts";
import { COMMAND_MS } from "./limits.ts";
import type { Json } from "./protocol.ts";
import { idleState } from "./running.ts";
import { suggestionFor } from "./suggestions.ts";

/**
 * Calls a step of the prelude as a part of the running exec. Returns its answer, or null if the
 * exec was stopped meanwhile.
 *
 * @throws MachineFault if the step failed, which only a fault of the host or a guest out of memory
 * can cause
 */
export function step({ engine, clock }: Pick<Guest, "engine" | "clock">, name: string, payload: Json): Json {
  const entered = engine.enter(name, textOf(payload));
  if (isAnswer(entered)) return answerOf(entered);
  if (clock.stopped()) return null;
  const { name: kind, message } = thrownBy(entered);
  throw new MachineFault(`the guest's ${name} failed: ${kind}: ${message}`);
}

/**
 * Runs a guest command for the host, between execs.
 *
 * @throws RlmError with what the command threw
 */
export function runCommand(guest: Guest, name: string, payload: Json): Json {
  guest.running.state = idleState();
  guest.clock.start(0, COMMAND_MS);
  return enterCommand(guest, name, payload);
}

/** Like `runCommand`, but within the time of what the machine is doing already. */
export function enterCommand({ engine, clock, running, heap }: Guest, name: string, payload: Json): Json {
  const entered = engine.enter(name, textOf(payload));
  const stopped = clock.stopped();
  clock.pause();
  if (running.fault) throw running.fault;
  if (stopped) throw new MachineFault(`${name} did not come to an end`);
  if (isAnswer(entered)) return answerOf(entered);
  const lowered = heap.overLimit();
  if (lowered) throw lowered;
  const thrown = thrownBy(entered);
  throw new RlmError(thrown.code && isErrorCode(thrown.code) ? thrown.code : "js_error", thrown.message, {
    suggestion: thrown.suggestion ?? suggestionFor(thrown.name, thrown.message, ""),
  });
}

/** The items of an answer that is a list. */
export const listOf = (answer: Json): readonly Json[] => (Array.isArray(answer) ? answer : []);

const textOf = (payload: Json) => (payload === null ? "" : JSON.stringify(payload));

type Answered = Entered & { ok: true };

/** The prelude answers `j` and JSON, or another letter and what was thrown. */
const isAnswer = (entered: Entered): entered is Answered => entered.ok && entered.value[0] === "j";
const answerOf = ({ value }: Answered): Json => JSON.parse(value.slice(1));
const thrownBy = (entered: Entered): Thrown => (entered.ok ? parseThrown(entered.value.slice(1)) : readThrown(entered));
