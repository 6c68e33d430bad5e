import * as v from "valibot";
import type { ExecState } from "../../../runtime/index.ts";
import { tokensOf } from "../../models/index.ts";
import type { CallNotice, PhaseProgress, SessionEvent } from "../events.ts";
import { callsFrom, type ExecRecords } from "../journal/exec-records.ts";
import { isSubCall } from "../journal/ledger.ts";
import type { ToolCall, ToolResult } from "../journal/records.ts";

// Reports for people who wait for a workflow that runs.

const text = v.fallback(v.nullable(v.string()), null);
const Named = v.fallback(v.object({ label: text, phase: text }), { label: null, phase: null });

const namesOf = ({ name, args }: ToolCall) => v.parse(Named, isSubCall(name) ? args[1] : null);

/** The sub-calls of an exec by their phases. */
interface Phases {
  /** Counts a result that has been kept. */
  answered(result: Pick<ToolResult, "call_id" | "success">): void;
  /** @param running ids of the calls that run */
  counts(exec: ExecRecords, running: ReadonlySet<string>): readonly PhaseProgress[];
}

/** Counts the sub-calls of an exec. Its time grows only with what is new. */
export function openPhases(begun: ExecRecords): Phases {
  const phases = new Map<string | null, { made: number; done: number; failed: number }>();
  const phaseOf = new Map<string, string | null>();
  let seen = 0;

  function countNew(exec: ExecRecords): void {
    for (const call of callsFrom(exec, seen)) {
      seen++;
      if (!isSubCall(call.name)) continue;
      const { phase } = namesOf(call);
      phaseOf.set(call.call_id, phase);
      const counted = phases.get(phase) ?? { made: 0, done: 0, failed: 0 };
      counted.made++;
      phases.set(phase, counted);
    }
  }

  function answered({ call_id, success }: Pick<ToolResult, "call_id" | "success">): void {
    const counted = phases.get(phaseOf.get(call_id) ?? null);
    if (!phaseOf.has(call_id) || !counted) return;
    counted.done++;
    if (!success) counted.failed++;
  }

  countNew(begun);
  for (const result of begun.results) answered(result);
  return {
    answered,
    counts(exec, running) {
      countNew(exec);
      const out = [...running].map((id) => phaseOf.get(id));
      return [...phases].map(([phase, counted]) => {
        return { phase, ...counted, running: out.filter((one) => one === phase).length };
      });
    },
  };
}

const Failure = v.fallback(v.object({ code: v.nullable(v.string()) }), { code: null });

/** The notice of a call that has been answered. @param now ms since the epoch */
export function noticeOf(call: ToolCall, result: ToolResult, now: number): CallNotice {
  const { success, value, model, cached, usage, sent_at } = result;
  return {
    call_id: call.call_id,
    ...namesOf(call),
    model,
    error_code: success ? null : (v.parse(Failure, value).code ?? "js_error"),
    cached,
    tokens: tokensOf(usage),
    cost_usd: usage.cost_usd,
    ms: sent_at === undefined ? null : now - sent_at,
  };
}

/**
 * Reports what a cell prints, as soon as it waits for calls.
 *
 * @param begun the state from which the exec continues: what is printed there has been told
 */
export function openPrinted({ output }: Pick<ExecState, "output">, emit: (event: SessionEvent) => void) {
  const sent = { stdout: output.stdout.length, stderr: output.stderr.length };
  return ({ output: { stdout, stderr } }: Pick<ExecState, "output">): void => {
    const added = { stdout: stdout.slice(sent.stdout), stderr: stderr.slice(sent.stderr) };
    sent.stdout = Math.max(sent.stdout, stdout.length);
    sent.stderr = Math.max(sent.stderr, stderr.length);
    if (added.stdout !== "" || added.stderr !== "") emit({ kind: "printed", ...added });
  };
}
