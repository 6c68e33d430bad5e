import { NO_USAGE } from "../../model/index.ts";
import type { AskRecords } from "../journal/account.ts";
import type { ExecRecords } from "../journal/exec-records.ts";
import type { TrajectoryCall, TrajectoryTurn } from "./api.ts";
import { roundsOf } from "./records.ts";

/** Each turn with its cells and their calls, as the records tell them. */
export function trajectoryOf(ask: AskRecords): readonly TrajectoryTurn[] {
  const rounds = roundsOf(ask);
  const turns = ask.execs.filter(({ start }) => start.kind === "turn");
  return turns.map((turn, at) => {
    const next = turns[at + 1];
    const from = ask.execs.indexOf(turn) + 1;
    const cells = ask.execs.slice(from, next ? ask.execs.indexOf(next) : undefined);
    const round = rounds[at];
    return {
      turn: round?.turn ?? at + 1,
      text: round?.outcome.ok ? round.outcome.reply.text : "",
      error_code: round && !round.outcome.ok ? round.outcome.code : null,
      usage: turn.results[0]?.usage ?? NO_USAGE,
      elapsed_ms: Math.round(turn.complete?.time_ms ?? 0),
      cells: cells.map((cell, index) => ({
        exec_id: cell.start.exec_id,
        code: cell.start.cell ?? "",
        success: cell.complete?.success === true,
        observation: round?.cells[index]?.observation ?? "",
        calls: callsOf(cell),
      })),
    };
  });
}

function callsOf({ calls, results }: Pick<ExecRecords, "calls" | "results">): readonly TrajectoryCall[] {
  const answered = new Map(results.map((result) => [result.call_id, result]));
  return calls.map(({ call_id }) => {
    const result = answered.get(call_id);
    const status = !result ? "pending" : result.success ? "ok" : "failed";
    return { call_id, model: result?.model ?? "", status, ...(result?.child ? { child: result.child } : {}) };
  });
}
