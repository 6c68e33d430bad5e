import type { Answer, CheckpointRequest, PendingCall, Slice } from "../../../runtime/index.ts";
import { recordsDoNotFit } from "./ends.ts";
import type { Beginning, LoopMachine, Replayed } from "./ports.ts";

export interface BeginParts {
  readonly cancel: AbortSignal;
  readonly suspend: AbortSignal | undefined;
  readonly stop: AbortSignal;
  settle(answers: readonly Answer[], image: boolean): Promise<Slice>;
  image(): CheckpointRequest | null;
}

/**
 * Starts or resumes the exec and gives it its recorded answers, each by itself as it was given at first. The slice that comes
 * out has all calls that still want an answer. Only what follows the last recorded answer is new, so no earlier image is taken.
 */
export async function begin(machine: LoopMachine, from: Beginning, parts: BeginParts): Promise<Slice> {
  const signals = { signal: parts.cancel, suspend: parts.suspend };
  let slice =
    from.kind === "resume"
      ? await machine.resume(from.input, signals)
      : await machine.start(from.input, from.replay.length > 0 ? null : parts.image(), signals);
  const open = new Map<string, PendingCall>();
  for (const [index, recorded] of from.replay.entries()) {
    if (slice.kind === "over" || parts.stop.aborted) return slice;
    for (const call of slice.calls) open.set(call.id, call);
    const misfit = misfitOf(recorded, open.get(recorded.id));
    if (misfit !== undefined) {
      await machine.end(misfit);
      return { kind: "over", end: recordsDoNotFit(misfit), state: slice.state, lost: misfit, whole: null, asides: [] };
    }
    open.delete(recorded.id);
    slice = await parts.settle([recorded], index === from.replay.length - 1);
  }
  return slice.kind === "over" ? slice : { ...slice, calls: [...open.values(), ...slice.calls].sort(byNumber) };
}

/** Why a recorded answer cannot be given to the guest. */
function misfitOf(recorded: Replayed, call: PendingCall | undefined): string | undefined {
  if (!call) return `the cell did not make the recorded call ${recorded.id} (${recorded.name})`;
  if (call.name !== recorded.name) return `call ${call.id} is ${call.name}, recorded was ${recorded.name}`;
  if (JSON.stringify(call.args) === JSON.stringify(recorded.args)) return undefined;
  return `the arguments of call ${call.id} (${call.name}) are not those that were recorded`;
}

const byNumber = (a: PendingCall, b: PendingCall) => numberOf(a) - numberOf(b);
const numberOf = ({ id }: PendingCall) => Number(id.slice(id.lastIndexOf(".") + 1));
