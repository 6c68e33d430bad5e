import type { ToolEnvelope } from "../tools/index.ts";
import type { RunningState } from "./run.ts";

/** Runs that were answered before they were over, and are over now. */
export interface Ended {
  keep(state: RunningState, envelope: ToolEnvelope): void;
  /** Nobody has its answer. */
  tell(state: RunningState): undefined;
  /** Another run has begun: without its id the last one is not meant any more. */
  passed(): void;
  /** The answer of the last one, if it is the one that is asked for; it needs no telling then. */
  answer(exec_id: string | null): ToolEnvelope | null;
  /** Somebody has its answer. */
  forget(state: RunningState): void;
  /** The execs of which no answer has told yet. */
  take(): string[];
}

export function openEnded(): Ended {
  let last: { readonly name: string; readonly envelope: ToolEnvelope } | null = null;
  let isNewest = false;
  let untold: string[] = [];
  const forget = (name: string) => {
    untold = untold.filter((told) => told !== name);
  };
  return {
    keep(state: RunningState, envelope: ToolEnvelope): void {
      last = { name: nameOf(state), envelope };
      isNewest = true;
    },
    tell: (state: RunningState) => void untold.push(nameOf(state)),
    passed(): void {
      isNewest = false;
    },
    answer(exec_id: string | null): ToolEnvelope | null {
      if (!last || (exec_id === null ? !isNewest : exec_id !== last.name)) return null;
      forget(last.name);
      return last.envelope;
    },
    forget: (state: RunningState) => forget(nameOf(state)),
    take(): string[] {
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
