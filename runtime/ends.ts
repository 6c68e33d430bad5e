import type { CellSyntaxError } from "./checks.ts";
import type { Entered } from "./engine.ts";
import { LIMITS } from "./limits.ts";
import type { CellEnd } from "./protocol.ts";
import { suggestionFor } from "./suggestions.ts";
import type { Thrown } from "./traceback.ts";

/** What the prelude reports of a cell that came to its end. */
interface ResultReport {
  /** JSON texts; null where both together are too large. */
  readonly result: string | null;
  readonly meta: string | null;
  /** UTF-16 units of both, counted as far as `counted` says. */
  readonly size: number;
  readonly counted: boolean;
  /** Values that JSON cannot hold and that became null. */
  readonly lost: readonly { readonly path: string; readonly what: string }[];
}

/** The result of a cell, with a warning for all that is not in it. */
export function resultEnd(payload: string, warn: (text: string) => void): CellEnd {
  const report: ResultReport = JSON.parse(payload);
  for (const { path, what } of report.lost) {
    warn(`result_not_serializable: ${path}${what === "a cycle" ? " [Circular]" : ` (${what})`}`);
  }
  const bytes = Buffer.byteLength(report.result ?? "") + Buffer.byteLength(report.meta ?? "");
  const size = Math.max(bytes, report.size);
  if (report.result !== null && size <= LIMITS.resultBytes) {
    return { kind: "ok", result: report.result, meta: report.meta };
  }
  if (!report.counted && size <= LIMITS.resultBytes) warn("result_too_large: more than 200,000 values");
  else
    warn(
      `result_too_large: ${report.counted ? "" : "more than "}${megabytes(size)} > ${megabytes(LIMITS.resultBytes)}`,
    );
  return { kind: "ok", result: "null", meta: null };
}

export function syntaxEnd({ code, message, line, column, suggestion }: CellSyntaxError, cell: number): CellEnd {
  const traceback = `SyntaxError: ${message}\n    at <cell ${cell}>:${line}:${column}`;
  return { kind: "error", code, error: { name: "SyntaxError", message, line, column, traceback }, suggestion };
}

export function outOfMemory(heapBytes: number): CellEnd {
  return placeless(
    "memory_limit_exceeded",
    "InternalError",
    `out of memory: the ${megabytes(heapBytes)} guest heap is full`,
    "Keep less in variables: set large ones to null, work in slices, or raise the limit (`--memory-mb N`).",
  );
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

/** An error that stands at no line of the cell. */
export function placeless(code: string, name: string, message: string, suggestion: string): CellEnd {
  const error = { name, message, line: null, column: null, traceback: `${name}: ${message}` };
  return { kind: "error", code, error, suggestion };
}

const megabytes = (bytes: number) => `${+(bytes / 2 ** 20).toFixed(1)} MB`;

/** What was thrown, as the prelude describes it. */
export function parseThrown(json: string): Thrown {
  return JSON.parse(json);
}

/** What an entry into the guest threw. */
export function readThrown(entered: Entered & { ok: false }): Thrown {
  return entered.failure === null
    ? { thrown: "nothing", name: "Error", message: "an error that could not be shown", stack: "", classes: [] }
    : parseThrown(entered.failure);
}
