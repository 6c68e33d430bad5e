import type { DryRun, ExecFailure, RlmError } from "../../index.ts";
import { amount } from "../../platform/figures.ts";
import { inLine } from "../../platform/visible.ts";
import { heldBackText } from "../../session/index.ts";
import type { Cell } from "../input/cells.ts";
import type { CallTotals } from "../render/calls.ts";
import { waitLines } from "../render/calls.ts";
import { type Outcome, type Showing, showDryRun, showOutcome } from "../render/envelope.ts";
import { failureJson, showFailure } from "../render/failure.ts";
import type { Terminal } from "../render/terminal.ts";
import { envelopeInFlags, inFlags } from "../render/wording.ts";

/** The form in which the outcome of cells and queries is printed. */
export interface Report {
  /** Gives false if the result does not fit its format, which is then told. */
  outcome(envelope: Outcome, taken: CallTotals | null, showing: Showing): boolean;
  /** A cell, or the cells after it, can be continued with the line `resume`. */
  suspended(open: ExecFailure | null, taken: CallTotals | null, resume: string, showing: Showing): void;
  /** Prints the estimate of a dry run. */
  dryRun(dry: DryRun): void;
  /** Reports a failure outside cells, with the session if one is open already. */
  failure(error: RlmError, session: string | null): void;
  /** A cell failed, so that those after it did not run. */
  stoppedAt(cell: Cell, index: number, count: number): void;
}

/** @param more fields of each JSON object */
export const reportOf = (isJson: boolean, terminal: Terminal, more: object = {}): Report =>
  isJson ? jsonReport(terminal, more) : textReport(terminal);

/** One JSON object a line, and nothing else on stdout. */
const jsonReport = ({ stdout }: Terminal, more: object): Report => {
  const print = (fields: object) => stdout.json(envelopeInFlags({ ...fields, ...more }));
  return {
    outcome(envelope, _taken, { written }) {
      print(written ? { ...envelope, output: written } : envelope);
      return true;
    },
    suspended(open, _taken, resume) {
      if (!open) return;
      // Another failure, such as that of a store on a full disk, has a cure of its own.
      const suggestion = isToGoOn(open) ? `\`${resume}\` finishes it.` : open.suggestion;
      print({ ...open, suggestion, resume });
    },
    dryRun: ({ envelope, estimate }) => print({ ...envelope, estimate }),
    failure: (error, session) => stdout.writeRaw(`${failureJson(error, session)}\n`),
    stoppedAt() {},
  };
};

const textReport = (terminal: Terminal): Report => ({
  outcome: (envelope: Outcome, taken: CallTotals | null, showing: Showing) =>
    showOutcome(envelope, taken, terminal, showing),
  suspended(open: ExecFailure | null, taken: CallTotals | null, resume: string, showing: Showing): void {
    // Another failure, such as that of a store on a full disk, says why.
    if (open && !isToGoOn(open)) showOutcome(open, taken, terminal, showing);
    for (const line of waitLines(open?.waits ?? [], Date.now())) terminal.stderr.write(`${line}\n`);
    if (open?.held_back) terminal.stderr.write(`${inFlags(heldBackText(open.held_back))}\n`);
    terminal.stderr.write(`suspended; continue with: ${resume}\n`, "yellow");
  },
  dryRun: (dry: DryRun): void => showDryRun(dry, terminal),
  failure: (error: RlmError, _session: string | null): void => showFailure(error, terminal),
  stoppedAt(cell: Cell, index: number, count: number): void {
    const remaining = count - index - 1;
    const rest = remaining > 0 ? `; ${amount(remaining, "cell")} not run` : "";
    terminal.stderr.write(`stopped at cell ${index + 1} of ${count} (${inLine(cell.name)})${rest}\n`);
  },
});

/** True if an exec was stopped or waits, and has no error to tell of. */
export const isToGoOn = ({ error_code }: Pick<ExecFailure, "error_code">) =>
  error_code === "cancelled" || error_code === "waits_for_provider";
