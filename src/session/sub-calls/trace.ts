import type { Spent, SubCallTurn } from "../../models/index.ts";
import type { ToolResult } from "../journal/records.ts";

const MOST_TURNS = 50;
const MOST_TOOLS = 20;
const NAME_UNITS = 64;

interface Traced extends Pick<Spent, "sent_at" | "turns" | "ignored" | "mended"> {
  readonly misfit?: string;
}

/** The data that a call's record keeps for a trace. The names of tools come from a model, so they are bounded. */
export function traceOf(
  { sent_at, turns, misfit, ignored, mended }: Traced,
  granted: readonly string[],
): Pick<ToolResult, "sent_at" | "turns" | "misfit" | "ignored" | "mended"> {
  // The single reply of a plain call tells nothing that its record does not.
  const isAgent = granted.length > 0 || turns.length > 1;
  return {
    ...(sent_at === null ? {} : { sent_at }),
    ...(misfit === undefined ? {} : { misfit }),
    ...(ignored.length === 0 ? {} : { ignored }),
    ...(mended.length === 0 ? {} : { mended }),
    ...(isAgent ? { turns: turns.slice(0, MOST_TURNS).map(bounded) } : {}),
  };
}

function bounded(turn: SubCallTurn): SubCallTurn {
  return { ...turn, tools: turn.tools.slice(0, MOST_TOOLS).map((name) => name.slice(0, NAME_UNITS).toWellFormed()) };
}
