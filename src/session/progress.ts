import { amount, compact, dollars, priced, size } from "../platform/figures.ts";
import type { CallProgress, PhaseProgress, SessionEvent, TurnProgress } from "./events.ts";
import { waitText } from "./sub-calls/patience.ts";

/** Progress of an exec, for hosts that show it on one line. */
export interface ExecProgress {
  /** The turn of an ask that it has come to, with its usage until now; null before the first, and for other execs. */
  readonly turn: Pick<TurnProgress, "turn" | "of" | "cells" | "sub_calls" | "tokens" | "cost_usd"> | null;
  /**
   * The turn that a child has come to which a call waits for; null if none has told one since the
   * last answer.
   */
  readonly child: Pick<TurnProgress, "turn" | "of" | "depth"> | null;
  /** Sub-calls, tokens and cost of the session so far; null before the first. */
  readonly calls: CallProgress | null;
  /** The files and bytes that a load has read. */
  readonly load: { readonly files: number; readonly bytes: number } | null;
  /** The work of a builtin or a wait, in words. */
  readonly notice: string | null;
}

export const NO_PROGRESS: ExecProgress = { turn: null, child: null, calls: null, load: null, notice: null };

/** The fields that an event changes. */
export function changeBy(event: SessionEvent): Partial<ExecProgress> {
  switch (event.kind) {
    case "calls": {
      const { kind: _kind, ...calls } = event;
      return { calls, child: null };
    }
    case "turn": {
      const { depth, turn, of, cells, sub_calls, tokens, cost_usd } = event;
      if (depth > 0) return { child: { depth, turn, of } };
      return { ...NO_PROGRESS, turn: { turn, of, cells, sub_calls, tokens, cost_usd } };
    }
    case "load":
      return { load: { files: event.files, bytes: event.bytes } };
    case "waiting":
      return { notice: event.wait && waitText(event.wait) };
    case "notice":
      return { notice: event.text };
    default:
      return {};
  }
}

/**
 * The parts of a line: `turn 3 of 20`, `Verify 3 of 9, 1 failed`, `3 done`, `5 running`, `42 left`, `48k
 * tokens (~9k held)`, `$0.021 (up to $0.034)`.
 *
 * @param inLine makes the beginning of a text, of so many characters, harmless where the line is shown
 */
export function progressParts(
  { turn, child, calls, load, notice }: ExecProgress,
  inLine: (text: string, units: number) => string,
): string[] {
  return [
    ...(turn ? turnParts(turn, calls !== null) : []),
    ...(load ? [amount(load.files, "file"), size(load.bytes)] : []),
    ...(notice === null ? [] : [inLine(notice, 60)]),
    ...(calls?.phases?.map((phase) => phasePart(phase, inLine)) ?? []),
    ...(calls ? callParts(calls) : []),
    ...(child ? [`child: turn ${child.turn} of ${child.of}`] : []),
  ];
}

function callParts(calls: CallProgress): string[] {
  const { phases, done, running, waiting, left } = calls;
  const { tokens, held_tokens, cost_usd, held_cost_usd } = calls;
  const held = held_tokens > 0 ? ` (~${compact(held_tokens)} held)` : "";
  const most = held_cost_usd > 0 ? ` (up to ${dollars(cost_usd + held_cost_usd)})` : "";
  return [
    ...(phases ? [] : [`${done} done`, `${running} running`]),
    ...(phases || waiting === 0 ? [] : [`${waiting} waiting`]),
    ...(phases ? [] : [`${left} left`]),
    `${compact(tokens)} tokens${held}`,
    ...(cost_usd > 0 || held_cost_usd > 0 ? [`${dollars(cost_usd)}${most}`] : []),
  ];
}

/** Agents of a phase that have ended, of those that were asked for. */
function phasePart(
  { phase, made, done, failed }: PhaseProgress,
  inLine: (text: string, units: number) => string,
): string {
  const counts = `${done} of ${phase === null ? amount(made, "agent") : made}`;
  return `${phase === null ? "" : `${inLine(phase, 30)} `}${counts}${failed > 0 ? `, ${failed} failed` : ""}`;
}

/** The usage of an ask until now; while sub-calls are out, their part shows that. */
function turnParts(
  { turn, of, cells, sub_calls, tokens, cost_usd }: NonNullable<ExecProgress["turn"]>,
  hasCalls: boolean,
): string[] {
  const taken = [amount(cells, "cell"), amount(sub_calls, "sub-call"), `${compact(tokens)} tokens`];
  return [`turn ${turn} of ${of}`, ...(hasCalls ? [] : [...taken, ...priced(cost_usd)])];
}
