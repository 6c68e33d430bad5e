import type { CellSyntaxError } from "./cells/checks.ts";
import type { Thrown } from "./cells/traceback.ts";
import type { Entered } from "./engine.ts";
import { RlmError } from "./errors.ts";
import { LIMITS } from "./limits.ts";
import { appendOutput, outputWarning, sizeText } from "./output.ts";
import type { CellEnd, Ended, ExecState, Printed } from "./protocol.ts";
import { firstly, remedy } from "./remedies.ts";
import { roundedInJson } from "./rounded.ts";
import type { Running } from "./running.ts";
import { suggestionFor } from "./suggestions.ts";

import { CANCELLED, TIMED_OUT } from "./threads/watchdog.ts";

/** The prelude's report of a cell's end. */
interface ResultReport {
  /** True if the parts that were posted are the whole result. */
  readonly isWhole: boolean;
  /** JSON text; null if there is none, or if it is too large. */
  readonly meta: string | null;
  /** UTF-16 units of both. */
  readonly size: number;
  /** True if all of both was counted: if not, they are larger than `size`. */
  readonly counted: boolean;
  /** Values that JSON cannot hold. They became null, or a text. */
  readonly lost: readonly { readonly path: string; readonly what: string; readonly as: "null" | "text" }[];
}

/**
 * Reads the result of a cell, and warns of everything that is missing from it. See `Ended` for
 * `whole`.
 */
export function resultEnd(
  payload: string,
  { parts, wantsWhole, state }: Pick<Running, "parts" | "wantsWhole" | "state">,
  warn: (text: string) => void,
): Pick<Ended, "end" | "whole"> {
  const report: ResultReport = JSON.parse(payload);
  for (const { path, what, as } of report.lost) {
    // Of a list one warning is enough.
    if (as === "text") warn(`number_as_text: ${path.replaceAll(/\[\d+\]/g, "[]")}`);
    else warn(`result_not_serializable: ${path}${what === "a cycle" ? " [Circular]" : ` (${what})`}`);
  }
  const text = report.isWhole ? parts.join("") : null;
  const rounded = roundedInJson(text ?? "");
  if (rounded !== null) warn(`number_rounded: ${rounded}`);
  const bytes = Buffer.byteLength(text ?? "");
  const size = Math.max(bytes + Buffer.byteLength(report.meta ?? ""), report.size);
  const whole = wantsWhole && bytes <= LIMITS.wholeResultBytes ? text : null;
  const limit = state.limits.max_result_bytes;
  if (text !== null && size <= limit) return { end: { kind: "ok", result: text, meta: report.meta }, whole };
  // A result that was wanted whole and is missing is larger than that limit too.
  warn(tooLarge(report, size, wantsWhole && whole === null ? Math.max(limit, LIMITS.wholeResultBytes) : limit));
  return { end: { kind: "ok", result: "null", meta: null }, whole };
}

function tooLarge({ counted }: ResultReport, size: number, limit: number): string {
  if (!counted && size <= limit) return "result_too_large: more than 200,000 values";
  return `result_too_large: ${counted ? "" : "more than "}${sizeText(size)} > ${sizeText(limit)}`;
}

export function syntaxEnd({ code, message, line, column, suggestion }: CellSyntaxError, cell: number): CellEnd {
  const traceback = `SyntaxError: ${message}\n    at <cell ${cell}>:${line}:${column}`;
  return { kind: "error", code, error: { name: "SyntaxError", message, line, column, traceback }, suggestion };
}

/** The end of a cell that failed. */
export type ErrorEnd = Extract<CellEnd, { kind: "error" }>;

export function outOfMemory(heapBytes: number): ErrorEnd {
  return placeless(
    "memory_limit_exceeded",
    "InternalError",
    `out of memory: the ${sizeText(heapBytes)} guest heap is full`,
    keepLess(),
  );
}

/**
 * For a guest that holds more than its limit, so that nothing runs in it. It does only if the limit
 * was lowered.
 *
 * @param heldBytes what the heap takes
 */
export function limitLowered(heldBytes: number, limitBytes: number): RlmError {
  const enough = Math.ceil(heldBytes / 2 ** 20) + SPARE_MB;
  const held = `${sizeText(heldBytes)}, more than its limit of ${sizeText(limitBytes)}`;
  return new RlmError("memory_limit_exceeded", `the session's heap is ${held}, so no cell runs`, {
    suggestion: `${firstly("raiseMemory")} to ${enough} or more: the limit was higher when the session was used before.`,
  });
}

/**
 * MB that a session needs in addition to what it holds, so that a cell can run and its state can be
 * kept.
 */
const SPARE_MB = 16;

const keepLess = () => `Keep less in variables: set large ones to null, work in slices, or ${remedy("raiseMemory")}.`;

/** For a guest that has no room left in which this could run. */
export function noRoom(what: string): RlmError {
  return new RlmError("memory_limit_exceeded", `the guest heap is too full for ${what}`, {
    suggestion: keepLess(),
  });
}

export function neverSettles(): CellEnd {
  const name = "NeverSettlesError";
  const message = "the cell awaits a promise that nothing will settle";
  return placeless("js_error", name, message, suggestionFor(name, message, ""));
}

export function sourceTooLarge(source: string): CellEnd {
  return placeless(
    "source_too_large",
    "RangeError",
    `the cell has ${Buffer.byteLength(source)} bytes (limit ${LIMITS.sourceBytes})`,
    "Split the cell, or load its data as context and read it with peek.",
  );
}

/** Like `placeless`, for an error that the host found. */
export function foundEnd({ code, message, suggestion }: RlmError): ErrorEnd {
  return placeless(code, "InternalError", message, suggestion);
}

/** An error without a line in the cell. */
export function placeless(code: string, name: string, message: string, suggestion: string): ErrorEnd {
  const error = { name, message, line: null, column: null, traceback: `${name}: ${message}` };
  return { kind: "error", code, error, suggestion };
}

/**
 * Reads the prelude's description of what was thrown. The prelude cuts its texts: one that was
 * taken over may not.
 */
export function parseThrown(json: string): Thrown {
  const thrown: Thrown = JSON.parse(json);
  return {
    ...thrown,
    name: thrown.name.slice(0, NAME_UNITS),
    message: thrown.message.slice(0, MESSAGE_UNITS),
    stack: thrown.stack.slice(0, STACK_UNITS),
  };
}

/** UTF-16 units that are kept of each. The prelude keeps fewer. */
const NAME_UNITS = 200;
const MESSAGE_UNITS = LIMITS.errorMessageUnits + 200;
const STACK_UNITS = 32 * 1024;

/** Reads what guest code threw when the host entered it. */
export function readThrown(entered: Entered & { ok: false }): Thrown {
  return entered.failure === null
    ? { thrown: "nothing", name: "Error", message: "an error that could not be shown", stack: "", classes: [] }
    : parseThrown(entered.failure);
}

/** Why an exec was ended by `ExecSignals.suspend`. */
export const SUSPENDED = "suspended";

/** The error for a message to a machine that is gone. */
export function machineLost(why: string): RlmError {
  return new RlmError("machine_lost", `the machine is gone: ${why}`, {
    suggestion: "Run the cell again; if it happens again, make the cell smaller and report it.",
  });
}

/** The reason of a machine's failure. */
export const faultOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The end of an exec whose machine was ended while it ran. */
export function lostEnd(why: string): CellEnd {
  if (why === TIMED_OUT) return { kind: "timeout" };
  if (why === CANCELLED || why === SUSPENDED) return { kind: "cancelled" };
  return placeless("machine_lost", "MachineFault", why, machineLost(why).suggestion);
}

/** The state of an exec whose machine was ended, with what the exec is known to have printed. */
export function withPrinted(last: ExecState, printed: readonly Printed[]): ExecState {
  const state = structuredClone(last);
  for (const { stream, text } of printed) appendOutput(state.output, stream, text, state.limits.max_output_bytes);
  if (state.output.truncated) state.warnings.push(outputWarning(state.output, state.limits.max_output_bytes));
  return state;
}
