import { type Checkpoint, type Json, PAGE_BYTES, RlmError } from "../../../runtime/index.ts";
import type { Context } from "../../context/index.ts";
import type { Step } from "../../store/index.ts";
import { factsAfter, follow } from "../journal/account.ts";
import type { EndExtras, JournalRecord, StepExtras } from "../journal/records.ts";
import type { Captured, Capturing } from "../machine/image-chain.ts";
import type { Machine } from "../machine/machines.ts";
import type { SessionParts } from "../parts.ts";
import { isFull } from "../space.ts";
import { spentOn } from "../sub-calls/run-part.ts";

export type Recorder = ReturnType<typeof openRecorder>;

export interface Capture extends Captured {
  /** When capturing began, on the scale of `clock.monotonic()`. The time in the guest's thread is subtracted. */
  readonly since: number;
}

export interface Kept {
  readonly records: readonly JournalRecord[];
  readonly extras: StepExtras | GivenEndExtras;
  /** Checkpoints that are dropped. */
  readonly drop: readonly string[];
  /** The context that the state has from now on. */
  readonly context: Context | null;
}

/** Memory and helpers as the guest gave them. */
type GivenEndExtras = Omit<EndExtras, "memory" | "helpers"> & { readonly memory: Json; readonly helpers: Json };

/** Writes the records and checkpoints of one exec. `commit` and `keep` are one transaction each, on disk when they resolve. */
export function openRecorder(
  { row, env, run, parking, deliveries, space, state, moved }: SessionParts,
  exec_id: string,
) {
  const { store, clock } = env;
  let current = state();
  let failed = false;

  async function write(records: readonly JournalRecord[], more: Partial<Step>, context: Context | null): Promise<void> {
    const told = context && { hash: context.hash, sources: context.stats.sources, chars: context.text.length };
    const facts = factsAfter(current.account, records, told);
    const results = records.filter((record) => record.record === "rlm_tool_result");
    const settle = run ? results.map((result) => run.settles(result.call_id, spentOn(result))) : [];
    const delivered = results.map(({ call_id }) => call_id).filter((id) => deliveries.has(id));
    const step = {
      records,
      facts,
      ...more,
      ...(settle.length > 0 ? { settle } : {}),
      ...(delivered.length > 0 ? { delivered } : {}),
      ...(needsSpace(records, more) ? { space: space.left() } : {}),
    };
    const bytes = await store.commit(row.id, step).catch((error: unknown) => {
      failed ||= !isFull(error);
      throw error;
    });
    space.grown(bytes);
    // Other records may have been kept meanwhile.
    current = { account: records.reduce(follow, current.account), context };
    moved(current);
    for (const { call_id } of results) {
      parking.recorded(call_id);
      deliveries.delete(call_id);
    }
  }

  return {
    /** The session's state after the last commit. */
    state: () => current,
    /** Takes note of an error that something else has met: the store may have failed there too. */
    noticed(error: unknown) {
      if (error instanceof RlmError && OF_STORE.has(error.code)) failed = true;
    },
    /** True if a commit of this exec, or a read for it, has failed. */
    hasFailed: () => failed,
    commit: (records: readonly JournalRecord[], more: Pick<Step, "answers" | "cache" | "drop" | "checkpoint"> = {}) =>
      write(records, more, current.context),
    /**
     * Captures the machine, which must be at rest. Nothing is kept yet.
     * @param image the image that the machine has captured by itself, or null
     */
    async capture(machine: Machine, kind: Capturing["kind"], image: Checkpoint | null): Promise<Capture> {
      const since = clock.monotonic() - (image?.ms ?? 0);
      const commands = kind === "end" ? EXPORTS : [];
      const capturing = { kind, exec_id, after: current.account.checkpoint, commands, at: clock.now() };
      return { ...(await machine.images.capture(machine.sandbox, capturing, image)), since };
    },
    /** Keeps what was captured together with the records that name it. */
    async keep({ checkpoint, pages, since, kept }: Capture, { records, extras, drop, context }: Kept) {
      await write(records, { checkpoint: { ...checkpoint, extras }, drop }, context);
      kept();
      const { id, kind } = checkpoint;
      const ms = clock.monotonic() - since;
      env.emit({ kind: "checkpoint", checkpoint: { id, exec_id, kind, pages, bytes: pages * PAGE_BYTES, ms } });
    },
  };
}

/** True for images and for what a caller begins. The records of what has begun are kept in any case: calls were paid for. */
function needsSpace([first]: readonly JournalRecord[], { checkpoint }: Partial<Step>): boolean {
  return checkpoint !== undefined || (first?.record === "rlm_start" && first.ask === undefined);
}

/** Codes of a store that was not there. What it says of damaged records is another matter: they stay damaged. */
const OF_STORE: ReadonlySet<string> = new Set(["store_failed", "lease_lost"]);

/** Guest commands whose answers are kept with an exec's end: its memory, and its helpers. */
const EXPORTS = ["memory.export", "helpers.sources"];
