import { limitIn } from "../../jobs/index.ts";
import type { RunRow } from "../../store/index.ts";
import { RUN_LIMITS } from "../flags/runs.ts";
import { inFlags } from "../render/wording.ts";

/** True if a limit of the run is spent, or is held by requests whose cost is not known. */
export const isOutOfMoney = ({ why }: Pick<RunRow, "why">) => why === "budget" || limitIn(why) !== null;

/** The flag of the limit that a paused run has reached, such as `--run-max-tokens`; null: an earlier build has not named it. */
export function reachedFlag({ why }: Pick<RunRow, "why">): string | null {
  const limit = limitIn(why);
  return limit === null ? null : `--${RUN_LIMITS[limit].name}`;
}

/** Why a run is paused, as a line for people. */
export function pausedText({ why, limits }: Pick<RunRow, "why" | "limits">): string {
  if (why === null) return "paused";
  if (!isOutOfMoney({ why })) return `paused: ${inFlags(why)}`;
  const limit = limitIn(why);
  const value = limit === null ? null : limits[limit];
  const shown = limit === "nanodollars" && value !== null ? value / 1e9 : value;
  const reached =
    limit === null ? "the limit of the run" : `${reachedFlag({ why })}${shown === null ? "" : ` ${shown}`}`;
  return `paused: ${reached} is spent, or held by requests in flight when a process ended`;
}
