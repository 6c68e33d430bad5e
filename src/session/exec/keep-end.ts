import { type CellEnd, type Checkpoint, type ExecState, hasCode, type Over } from "../../../runtime/index.ts";
import type { Context } from "../../context/index.ts";
import { follow, oldEnds } from "../journal/account.ts";
import { type Complete, hashOf, readEndExtras } from "../journal/records.ts";
import type { Machine } from "../machine/guest.ts";
import { unchanged } from "../machine/image-chain.ts";
import { restored, stepsOf, toldRestored } from "./interrupted.ts";
import { completeOf, type Work } from "./work.ts";

/**
 * ▣ Keeps the state of the machine and the record of the exec's end, in one commit.
 * @param context after the exec
 * @param image what the machine has captured by itself
 */
export async function keepEnd(
  work: Work,
  machine: Machine,
  context: Context | null,
  fields: Partial<Complete>,
  image: Checkpoint | null = null,
): Promise<Complete> {
  const { setup, recorder } = work;
  await thinEnds(work);
  const capture = await recorder.capture(machine, "end", image);
  const { id, base } = capture.checkpoint;
  const [memory = {}, helpers = []] = capture.answers;
  const isWhole = base === null || base === machine.sandbox.baseline.image.id;
  const context_hash = context?.hash ?? null;
  const context_key = context?.key ?? null;
  const made = { checkpoint_id: id, helpers_hash: hashOf(helpers), context_hash, context_key };
  const complete = completeOf(work, { ...fields, ...made });
  const { ledger, cells } = follow(recorder.state().account, complete);
  await recorder.keep(capture, {
    records: [complete],
    extras: { kind: "end", memory, helpers, context_hash, ledger, cells },
    drop: [...finishedSteps(work), ...setup.gcEnds({ id, isWhole })],
    context,
  });
  return complete;
}

/**
 * ▣ Keeps the end of a cell with the state that stays. This is the state of its machine, else of the newest checkpoint that can
 * be opened, else that before the exec. That stays too if nothing continues from a cell that has succeeded.
 */
export async function keepCellEnd(
  work: Work,
  machine: Machine | undefined,
  over: Over,
  fields: Partial<Complete>,
): Promise<Complete> {
  const { setup, recorder } = work;
  const keep = (standing: Machine, image?: Checkpoint) =>
    keepEnd(work, standing, recorder.state().context, fields, image).catch(unlessUnfit);
  if (!(setup.leavesNoState && fields.success)) {
    const own = machine && over.lost === null ? await keep(machine, over.image) : null;
    const kept = own ?? (machine ? await restored(work, over, keep) : null);
    if (kept) return kept;
  }
  const complete = completeOf(work, fields);
  await recorder.commit([complete], { drop: finishedSteps(work) });
  return complete;
}

/** ▣ Keeps the end of a query, which leaves the guest as it was: only the ledger has moved. */
export async function keepQueryEnd(work: Work, fields: Partial<Complete>): Promise<Complete> {
  const { setup, recorder, exec_id } = work;
  const { checkpoint } = recorder.state().account;
  const drop = finishedSteps(work);
  const row = checkpoint === null ? null : await setup.env.store.checkpoint(checkpoint);
  if (!row) {
    // Nothing has run in the session yet, so it has no checkpoint.
    const complete = completeOf(work, fields);
    await recorder.commit([complete], { drop });
    return complete;
  }
  await thinEnds(work);
  const id = setup.env.newId();
  const complete = completeOf(work, { ...fields, checkpoint_id: id });
  const { ledger } = follow(recorder.state().account, complete);
  const next = unchanged(row, { kind: "end", exec_id, after: row.id, at: setup.env.clock.now() }, id);
  await recorder.commit([complete], {
    checkpoint: { ...next, extras: { ...readEndExtras(row.extras), ledger } },
    drop: [...drop, ...setup.gcEnds({ id, isWhole: false })],
  });
  setup.env.emit({ kind: "checkpoint", checkpoint: { id, exec_id, kind: "end", pages: 0, bytes: 0, ms: 0 } });
  return complete;
}

/** ▣ Keeps the end of an exec for whose image there is no space. The state is that before the exec. */
export async function keepFullEnd(work: Work, end: CellEnd, state: ExecState): Promise<Complete> {
  toldRestored(work, state);
  const complete = completeOf(work, { success: false, error_code: "store_full", end, state });
  await work.recorder.commit([complete], { drop: finishedSteps(work) });
  return complete;
}

/** ▣ Drops old ends before the next one is kept: who dies in between finds nothing to drop. Pi's branches refer to the ends of Pi. */
async function thinEnds({ setup, recorder }: Work): Promise<void> {
  const { row, rules, env, space } = setup;
  const old = oldEnds(recorder.state().account);
  if (old.length > 0 && !rules.keepSteps && row.origin !== "pi") space.grown(await env.store.thin(row.id, old));
}

/** The checkpoints within the exec, which go when it has ended. */
function finishedSteps({ setup, recorder }: Work): readonly string[] {
  const { last } = recorder.state().account;
  return setup.rules.keepSteps || !last ? [] : stepsOf(last);
}

/** null if the machine is gone, or if no other cell could run in it: nothing was kept then. */
function unlessUnfit(error: unknown): null {
  if (hasCode(error, "machine_lost", "memory_limit_exceeded")) return null;
  throw error;
}
