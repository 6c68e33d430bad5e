import { type ExecState, type Over, RlmError } from "../../../runtime/index.ts";
import { nullIf } from "../../platform/errors.ts";
import type { ExecRecords } from "../journal/exec-records.ts";
import type { Machine } from "../machine/machines.ts";
import { positionOf } from "../state.ts";
import { warn } from "./ends.ts";
import { continuationAt, continuationFromStart, elapsedIn, inFlight, stepsOf } from "./interrupted.ts";
import type { Continuation } from "./ports.ts";
import { resumeOf, type Work } from "./work.ts";

/**
 * The machine that an exec begins in: the session's.
 * @param isScratch another machine at the same position, which the session does not go on with
 */
export function openAtState({ setup: { guest }, recorder }: Work, isScratch: boolean): Promise<Machine> {
  const position = positionOf(recorder.state());
  return isScratch ? guest.scratch(position) : guest.use(position);
}

/**
 * The machine of an interrupted exec, at the newest of its checkpoints that can be read, else at the exec's start. `from`
 * has the answers recorded since.
 *
 * @throws RlmError `checkpoint_lost`
 */
export async function reopen(
  work: Work,
  records: ExecRecords,
  isScratch: boolean,
): Promise<{ machine: Machine; from: Continuation }> {
  const { setup, recorder } = work;
  const position = positionOf(recorder.state());
  for (const { tool_override_event: event } of records.results) if (event) work.events.push(event);
  const since = (ms: number) => {
    work.startedAt = setup.patience.time.monotonic() - ms;
  };
  for (const step of stepsOf(records)) {
    const at = await nullIf(
      "checkpoint_lost",
      isScratch ? setup.guest.scratchAtStep(step, position) : setup.guest.useStep(step, "keep", position),
    );
    if (!at) continue;
    const from = continuationAt(at.row, records);
    since(elapsedIn(records, from.extras));
    await recorder.commit([resumeOf(work, step, from.replay, inFlight(records), from.running)]);
    return { machine: at.machine, from };
  }
  const from = continuationFromStart(records);
  since(elapsedIn(records, null));
  await recorder.commit([resumeOf(work, null, from.replay, inFlight(records), from.running)]);
  const machine = await openAtState(work, isScratch);
  if (machine.isWhole) return { machine, from };
  if (isScratch) await machine[Symbol.asyncDispose]();
  throw new RlmError("checkpoint_lost", "neither a checkpoint of the exec nor the state before it can be read", {
    suggestion:
      "Define the variables again that the cell needs, then run it again; memory, helpers and context are kept.",
  });
}

/** Warns that the state is that before the exec. */
export function toldRestored({ recorder }: Pick<Work, "recorder">, state: ExecState): void {
  const { checkpoint, last } = recorder.state().account;
  const before = checkpoint === null ? "a fresh guest" : `checkpoint ${checkpoint}`;
  warn(state, `state_restored: ${before}, after 0 of ${last?.calls.length ?? 0} sub-calls`);
}

/**
 * The machine of a cell was lost, or its state could not be kept. Opens the newest checkpoint of the exec that `keep` takes,
 * else the state before the exec.
 *
 * @param keep gives null for a machine that it does not take
 * @returns what `keep` gave; null if the session has the state already, which is that before the exec
 */
export async function restored<Kept>(
  work: Work,
  { state, end, asides }: Over,
  keep: (machine: Machine) => Promise<Kept | null>,
): Promise<Kept | null> {
  const { setup, recorder } = work;
  const { account } = recorder.state();
  const calls = account.last?.calls ?? [];
  // The next machine waits for the end of the lost one. An exec that opens none does not.
  void setup.guest.end();
  // Records that do not fit an image leave only what was there before them.
  const isLost = end.kind === "error" && end.code === "checkpoint_lost";
  for (const step of isLost ? [] : stepsOf({ calls })) {
    const at = await nullIf("checkpoint_lost", setup.guest.useStep(step, "drop", positionOf(recorder.state())));
    if (!at) continue;
    const made = calls.findLastIndex(({ checkpoint_id }) => checkpoint_id === step) + 1;
    const settled = made - continuationAt(at.row, { calls, results: [] }).extras.waiting.length;
    const warning = `state_restored: checkpoint ${step}, after ${settled} of ${calls.length} sub-calls`;
    warn(state, warning);
    const kept = await keep(at.machine);
    if (kept) return kept;
    state.warnings.splice(state.warnings.indexOf(warning), 1);
    await setup.guest.end();
  }
  toldRestored(work, state);
  if (asides.length === 0) return null;
  // What failed must not fail the next exec too.
  const machine = await setup.guest.use(positionOf(recorder.state()));
  for (const aside of asides) await machine.sandbox.enter("helpers.aside", { ...aside });
  return keep(machine);
}
