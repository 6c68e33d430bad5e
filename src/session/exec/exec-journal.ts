import type { Checkpoint, Clock, Json } from "../../../runtime/index.ts";
import type { ToolOverrideEvent } from "../../model/index.ts";
import type { Step } from "../../store/index.ts";
import type { Account } from "../journal/account.ts";
import { hashOf, type JournalRecord, type StepExtras } from "../journal/records.ts";
import type { Machine } from "../machine/guest.ts";
import type { Captured } from "../machine/image-chain.ts";
import type { ExecCalls } from "./calls.ts";
import type { Answered, LoopJournal } from "./ports.ts";
import type { ExecTime } from "./time.ts";

/** The exec that a cell runs in. */
export interface CellRun {
  readonly exec_id: string;
  /** 0 for the cell of a query. */
  readonly cell: number;
  /** On the scale of `clock.monotonic()`; an earlier process's part of the exec taken off. */
  readonly startedAt: number;
  /** Decisions on tools, added to as they are made. */
  readonly events: ToolOverrideEvent[];
  /** By the records committed so far. */
  account(): Account;
  /** Keeps records, and with them answers for the cache. */
  commit(records: readonly JournalRecord[], cache?: Step["cache"]): Promise<void>;
  /** Keeps a checkpoint of the machine, which waits for calls, with the records that name it; takes it where it is not. */
  step(
    machine: Machine,
    taken: Checkpoint | null,
    make: (captured: Captured) => { readonly records: readonly JournalRecord[]; readonly extras: StepExtras },
  ): Promise<void>;
}

/** The records of an exec that runs, one commit each. */
export function openExecJournal(
  run: CellRun,
  machine: Machine,
  { calls, time, clock }: { readonly calls: ExecCalls; readonly time: ExecTime; readonly clock: Clock },
): LoopJournal<Answered> {
  return {
    nextImage: machine.images.step,
    async keepStep({ calls: waiting, state, image }) {
      const recorded = run.account().last?.calls ?? [];
      const ids = new Set(recorded.map(({ call_id }) => call_id));
      const made = waiting.filter(({ id }) => !ids.has(id));
      if (made.length === 0) return;
      const at = clock.now();
      await run.step(machine, image, (captured) => ({
        records: made.map(({ id, name, args }, index) => ({
          record: "rlm_tool_call",
          exec_id: run.exec_id,
          call_id: id,
          checkpoint_id: captured.checkpoint.id,
          name,
          args,
          args_hash: hashOf(args),
          call_count: recorded.length + index + 1,
          output_bytes: Buffer.byteLength(state.output.stdout) + Buffer.byteLength(state.output.stderr),
          at,
        })),
        extras: { kind: "step", state, waiting: captured.waiting, elapsed_ms: time.elapsed() },
      }));
      calls.made();
    },
    async keepResult(call, { settlement, record, cacheKey }, signal) {
      const value: Json = settlement.ok ? settlement.value : { ...settlement.error };
      const at = clock.now();
      await run.commit(
        [
          {
            record: "rlm_tool_result",
            exec_id: run.exec_id,
            call_id: call.id,
            name: call.name,
            success: settlement.ok,
            value,
            ...record,
            elapsed_ms: time.elapsed(),
            at,
          },
        ],
        cacheKey === null ? [] : [{ key: cacheKey, value: { value }, at }],
      );
      // One that was given up is not done.
      calls.answered(call, settlement.ok || !signal.aborted);
      if (record.tool_override_event) run.events.push(record.tool_override_event);
    },
  };
}
