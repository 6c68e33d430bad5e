import type { CheckpointRequest, PendingCall, Waiting } from "../../../runtime/index.ts";
import { tokensOf } from "../../models/index.ts";
import { given } from "../../platform/json.ts";
import type { Step } from "../../store/index.ts";
import { callCount, callIn } from "../journal/exec-records.ts";
import { hashOf, type Suspend, type ToolResult } from "../journal/records.ts";
import { type CallKeys, MOST_KEPT_UNITS } from "../sub-calls/cache.ts";
import type { Answered } from "../sub-calls/port.ts";
import { nanodollars } from "../sub-calls/run-part.ts";
import type { ExecCalls } from "./calls.ts";
import type { ExecHistory } from "./conversation.ts";
import type { Lending } from "./lending.ts";
import type { ExecTime } from "./time.ts";
import { resultOf, type Work } from "./work.ts";

export type ExecJournal = ReturnType<typeof openExecJournal>;

/** Keeps the records of an exec that runs, one commit each. Each `keep` resolves when its commit is on disk. */
export function openExecJournal(
  { setup, exec_id, recorder, events }: Omit<Work, "startedAt">,
  lending: Pick<Lending, "machine" | "kept">,
  calls: ExecCalls,
  time: ExecTime,
  history: Pick<ExecHistory, "keep">,
) {
  const { clock } = setup.env;
  return {
    /** Keeps what a graceful stop leaves open. Nothing is kept after it. */
    async keepSuspend(left: Pick<Suspend, "still_running" | "waited_ms">): Promise<void> {
      await recorder.commit([{ record: "rlm_suspend", exec_id, ...left, at: clock.now() }]);
    },
    /** The image that the machine takes by itself when its guest next waits for new calls. */
    nextImage: (): CheckpointRequest | null => lending.machine().images.step(),
    /** Keeps the image and the calls that have no record yet. Without such calls it keeps nothing. */
    async keepStep({ calls: waiting, state, image }: Waiting): Promise<void> {
      const { last } = recorder.state().account;
      const made = waiting.filter(({ id }) => !callIn(last, id));
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
    /** Keeps that a call is about to run which must not run twice. */
    async keepRun(call_id: string): Promise<void> {
      await recorder.commit([{ record: "rlm_run", exec_id, call_id, at: clock.now() }]);
    },
    async keepResult(
      call: PendingCall,
      { settlement, record, cacheKey }: Answered,
      signal: AbortSignal,
    ): Promise<void> {
      const result = resultOf(call, { settlement, record }, { exec_id, elapsed_ms: time.elapsed(), at: clock.now() });
      await recorder.commit([result], cacheKey === null ? {} : keptBy(cacheKey, result));
      // A call that was aborted is not counted as done.
      calls.answered(call, settlement.ok || !signal.aborted);
      if (record.tool_override_event) events.push(record.tool_override_event);
    },
  };
}

/** The answer as later calls find it, in the commit of its record. */
function keptBy(
  { cache, answer }: CallKeys,
  { value, model, mended, usage, at }: ToolResult,
): Pick<Step, "cache" | "answers"> {
  if (JSON.stringify(value).length > MOST_KEPT_UNITS) return {};
  const spent = { tokens: tokensOf(usage), nanodollars: nanodollars(usage.cost_usd) };
  return {
    ...(cache === null ? {} : { cache: [{ key: cache, value: { value, ...given({ mended }) }, at }] }),
    ...(answer === null ? {} : { answers: [{ ...answer, value, model, ...spent, at }] }),
  };
}
