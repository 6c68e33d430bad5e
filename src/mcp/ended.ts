import type { ToolEnvelope } from "../tools/index.ts";
import type { RunningState } from "./run.ts";

/** Runs that were answered before they were over, and are over now. */
export interface Ended {
  keep(state: RunningState, envelope: ToolEnvelope): void;
  /** The answer of the newest one, if it is the one that is asked for; it needs no telling then. */
  answer(exec_id: string | null): ToolEnvelope | null;
  /** Somebody has its answer. */
  forget(state: RunningState): void;
  /** The execs of which no answer has told yet. */
  take(): string[];
}

export function openEnded(): Ended {
  let newest: { readonly name: string; readonly envelope: ToolEnvelope } | null = null;
  let untold: string[] = [];
  const forget = (name: string) => {
    untold = untold.filter((told) => told !== name);
  };
  return {
    keep(state, envelope) {
      newest = { name: nameOf(state), envelope };
      untold.push(newest.name);
    },
    answer(exec_id) {
      if (!newest || (exec_id !== null && exec_id !== newest.name)) return null;
      forget(newest.name);
      return newest.envelope;
    },
    forget: (state) => forget(nameOf(state)),
    take() {
      const told = untold;
      untold = [];
      return told;
    },
  };
}

/** A call that ended before its exec began has no id. */
function nameOf({ exec_id, tool }: RunningState): string {
  return exec_id ?? tool;
}
