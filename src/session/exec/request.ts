import type { ExecLimits, ExecSignals, Json } from "../../../runtime/index.ts";
import type { Context, LoadOptions } from "../../context/index.ts";

import type { LoadInput } from "../contexts/contexts.ts";
import type { BudgetLimits, CellFile, Start } from "../journal/records.ts";

import type { ExecOptions } from "../option-types.ts";

/** A request to run an exec. */
export type ExecRequest = CellRequest | LoadRequest | CommandRequest;

export type CellRequest =
  | {
      readonly kind: "cell";
      readonly source: string;
      readonly limits: Partial<ExecLimits>;
      readonly sites?: boolean;
      readonly name?: string;
      readonly rest?: readonly CellFile[];
      /** The exec_id of the ask whose cell this is. */
      readonly ask?: string;
      /** Limits of its caller for it alone. */
      readonly budget?: Partial<BudgetLimits>;
    }
  /** Belay's own cell, on another machine at the same checkpoint. Only the ledger changes. */
  | {
      readonly kind: "query";
      readonly prompt: string;
      readonly source: string;
      readonly budget?: Partial<BudgetLimits>;
    };

/** A change of the guest's memory or helpers. */
export interface CommandRequest {
  readonly kind: "memory" | "helpers";
  readonly input: Json;
}

/** The signals that end an exec, and the function that takes its whole result. */
export type ExecAsked = ExecSignals & Pick<ExecOptions, "deliver" | "history">;

/** The request of a cell or query, from its first record. */
export function cellRequestOf({ kind, input, cell, limits, rest, ask }: Start): CellRequest {
  const source = cell ?? "";
  if (kind === "query") return { kind, prompt: String(input), source };
  return { kind: "cell", source, limits, rest, ...(ask === undefined ? {} : { ask }) };
}

export interface LoadRequest {
  readonly kind: "load" | "append";
  readonly input: LoadInput;
  read(current: Context | null): Promise<Context>;
}

/** Options and services of a session's loads. */
export interface Loading extends Omit<LoadOptions, "roots"> {
  /** Opens a context of the store, for a load of parts of it. @throws RlmError `context_lost` */
  contextOf(key: string): Promise<Context>;
}
