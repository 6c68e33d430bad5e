import type { Clock } from "../../../runtime/index.ts";
import { callCount, callIn } from "../journal/exec-records.ts";
import { hashOf } from "../journal/records.ts";
import type { Answered } from "../sub-calls/port.ts";
import type { ExecCalls } from "./calls.ts";
import type { ExecHistory } from "./conversation.ts";
import type { Lending } from "./lending.ts";
import type { LoopJournal } from "./ports.ts";
import type { ExecTime } from "./time.ts";
import { resultOf, type Work } from "./work.ts";

/** The records of an exec that runs, one commit each. */
export function openExecJournal(
  { exec_id, recorder, events }: Pick<Work, "exec_id" | "recorder" | "events">,
  lending: Pick<Lending, "machine" | "kept">,
  {
    calls,
    time,
    clock,
    history,
  }: {
    readonly calls: ExecCalls;
    readonly time: ExecTime;
    readonly clock: Clock;
    readonly history: Pick<ExecHistory, "keep">;
  },
): LoopJournal<Answered> {
  return {
    nextImage: () => lending.machine().images.step(),
    async keepStep({ calls: waiting, state, image }) {
      const { last } = recorder.state().account;
      const made = waiting.filter(({ id }) => !last || !callIn(last, id));
      if (made.length === 0) return;
      await history.keep(state.library);
      const at = clock.now();
      const before = last ? callCount(last) : 0;
      const capture = await recorder.capture(lending.machine(), "step", image);
      const records = made.map(({ id, name, args, counts }, index) => ({
        record: "rlm_tool_call" as const,
        exec_id,
        call_id: id,
        checkpoint_id: capture.checkpoint.id,
        name,
        args,
        args_hash: hashOf(args),
        ...(counts === undefined ? {} : { counts }),
        ...calls.marks({ name }),
        call_count: before + index + 1,
        output_bytes: Buffer.byteLength(state.output.stdout) + Buffer.byteLength(state.output.stderr),
        at,
      }));
      const extras = { kind: "step", state, waiting: capture.waiting, elapsed_ms: time.elapsed() } as const;
      const { context } = recorder.state();
      await recorder.keep(capture, { records, extras, drop: [], context });
      lending.kept({ id: capture.checkpoint.id, state });
      calls.made();
    },
    async keepResult(call, { settlement, record, cacheKey }, signal) {
      const result = resultOf(call, { settlement, record }, { exec_id, elapsed_ms: time.elapsed(), at: clock.now() });
      const { value, at } = result;
      await recorder.commit([result], cacheKey === null ? {} : { cache: [{ key: cacheKey, value: { value }, at }] });
      // A call that was aborted is not counted as done.
      calls.answered(call, settlement.ok || !signal.aborted);
      if (record.tool_override_event) events.push(record.tool_override_event);
    },
  };
}
