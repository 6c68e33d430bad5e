import {
  type AnyNode,
  type CallExpression,
  type NewExpression,
  parse,
  parseExpressionAt,
  type TaggedTemplateExpression,
} from "acorn";
import { offsetOf } from "./cells/checks.ts";
import { nodesAround } from "./cells/declarations.ts";
import { LANGUAGE_NAMES } from "./cells/helper-script.ts";
import type { Scripts } from "./cells/scripts.ts";
import { guestError, type Thrown, throwingFrame } from "./cells/traceback.ts";
import { canReadTypes } from "./cells/typescript.ts";
import type { ErrorEnd } from "./ends.ts";
import type { Guest } from "./guest.ts";
import type { GuestLibrary } from "./library.ts";
import { DRAIN_MS } from "./limits.ts";
import { outputWarning } from "./output.ts";
import type { CellEnd, Ended } from "./protocol.ts";
import { keepLibraryState } from "./running.ts";
import { suggestionFor } from "./suggestions.ts";

/**
 * Ends the exec. The guest drops all calls and callbacks of the exec, so that no guest code runs
 * after it.
 * @param atRest true if the guest has come to rest
 */
export function endExec(guest: Guest, end: CellEnd, whole: string | null = null, atRest = true): Ended {
  const { engine, clock, running } = guest;
  clock.grace(DRAIN_MS);
  running.outstanding.clear();
  running.fresh = [];
  running.parts = [];
  const { output, limits, warnings } = running.state;
  if (output.truncated) warnings.push(outputWarning(output, limits.max_output_bytes));
  leaveOutHelpers(guest);
  const dropped = engine.enter("drop", "");
  const isSound = atRest && canReadTypes() && !isFilled(guest, end) && dropped.ok;
  const clean = isSound && (end.kind === "ok" || passesCheck(guest));
  running.state.running_ms = clock.pause();
  keepLibraryState(guest, end);
  if (running.fault) throw running.fault;
  return { kind: "ended", end, state: running.state, clean, whole, asides: running.asides };
}

/** Tells the guest which helpers failed in the exec: it does not list them for later cells. */
function leaveOutHelpers({ engine, heap, library: { preamble }, running }: Guest): void {
  heap.withSpareBytes(() => {
    for (const aside of running.asides) engine.enter(preamble.setAside, JSON.stringify(aside));
  });
}

/**
 * True if a state so large is not worth keeping: the cell has filled the heap, or has run out of
 * time while it filled it.
 */
function isFilled({ heap }: Guest, end: CellEnd): boolean {
  const isCut = end.kind === "timeout" || (end.kind === "error" && end.code === "memory_limit_exceeded");
  return isCut && heap.hasGrown();
}

function passesCheck({ engine }: Guest): boolean {
  const checked = engine.enter("check", "");
  return checked.ok && checked.value === "jtrue" && engine.runJob() === "empty";
}

/**
 * Ends an exec that is out of time or cancelled. If the guest does not come to rest within
 * DRAIN_MS, the end is not clean.
 */
export function cutExec(guest: Guest): Ended {
  const { engine, clock } = guest;
  const kind = clock.stopped() === "cancelled" ? "cancelled" : "timeout";
  const until = clock.monotonic() + DRAIN_MS;
  let atRest = false;
  while (!atRest && clock.monotonic() < until) atRest = engine.runJob() === "empty";
  return endExec(guest, { kind }, null, atRest);
}

/** The end of a cell that threw. */
export function thrownEnd({ heap, scripts, running, library }: Guest, thrown: Thrown): ErrorEnd {
  const isOutOfMemory = thrown.name === "InternalError" && OUT_OF_MEMORY.has(thrown.message);
  if (isOutOfMemory || (thrown.thrown === "nothing" && heap.isFull())) return heap.fullEnd();
  const error = guestError(named(thrown, scripts, library), scripts.columnOf);
  const suggestion = thrown.suggestion ?? suggestionFor(error.name, error.message, running.source, library);
  return { kind: "error", code: thrown.code ?? "js_error", error, suggestion };
}

/** The error with the name of what was called and is not a function: the engine leaves it out. */
function named(thrown: Thrown, scripts: Scripts, { reserved }: Pick<GuestLibrary, "reserved">): Thrown {
  const { message } = thrown;
  if (thrown.name !== "TypeError" || !/^not a (?:function|constructor)$/.test(message)) return thrown;
  const frame = throwingFrame(thrown, scripts.columnOf);
  const code = frame && scripts.codeOf(frame.file);
  const called = code && calledAt(code, frame.line, frame.column, new Set([...reserved, ...LANGUAGE_NAMES]));
  return called ? { ...thrown, message: `${called} is ${message}` } : thrown;
}

/** Messages of the engine; it has one of its own for regular expressions. */
const OUT_OF_MEMORY: ReadonlySet<string> = new Set(["out of memory", "out of memory in regexp execution"]);

type Call = CallExpression | NewExpression | TaggedTemplateExpression;

/**
 * The engine says `not a function` and leaves the name out. Its place is the last one at which the
 * call or its arguments were worked on, so of calls within calls each may be meant.
 *
 * @param names known to be functions
 * @returns what was called, as `row.sizee`, or `row.sizee or list.push`; null if that cannot be
 * told
 */
function calledAt(code: string, line: number, column: number, names: ReadonlySet<string>): string | null {
  const program = programOf(code);
  if (!program) return null;
  // The engine counts columns of a cell's first line from 0 in some places, so an offset may be one
  // too small.
  const offset = offsetOf(code, line, column);
  const calls = nodesAround(program, offset).filter(isCall);
  const called = calls.map(calleeOf).filter((callee) => !(callee.type === "Identifier" && names.has(callee.name)));
  const texts = [...new Set(called.map((callee) => textOf(callee, code)))].reverse();
  return texts.length > 0 && texts.length <= MOST ? texts.join(" or ") : null;
}

/** More calls than this within each other tell nobody anything. */
const MOST = 3;

function programOf(code: string): AnyNode | null {
  const options = { ecmaVersion: "latest", allowAwaitOutsideFunction: true, allowReturnOutsideFunction: true } as const;
  try {
    return parse(code, options);
  } catch {
    return objectIn(code, options);
  }
}

/** A cell may be an object literal, which is no program. */
function objectIn(code: string, options: Parameters<typeof parseExpressionAt>[2]): AnyNode | null {
  try {
    return parseExpressionAt(code, code.indexOf("{"), options);
  } catch {
    return null;
  }
}

const isCall = (node: AnyNode): node is Call => /^(?:Call|New|TaggedTemplate)Expression$/.test(node.type);

const calleeOf = (call: Call): AnyNode => (call.type === "TaggedTemplateExpression" ? call.tag : call.callee);

/** The source of what is called, with the arguments of calls in it left out. */
function textOf(node: AnyNode, code: string): string {
  if (node.type === "MemberExpression") {
    const { object, property, computed, optional } = node;
    const name = code.slice(property.start, property.end);
    return `${textOf(object, code)}${computed ? `[${short(name)}]` : `${optional ? "?." : "."}${name}`}`;
  }
  if (node.type === "CallExpression") return `${textOf(node.callee, code)}(…)`;
  if (node.type === "ChainExpression") return textOf(node.expression, code);
  if (node.type === "Identifier" || node.type === "ThisExpression" || node.type === "Super") {
    return code.slice(node.start, node.end);
  }
  const text = short(code.slice(node.start, node.end));
  return /^(?:Literal|Array|Template)/.test(node.type) ? text : "(…)";
}

const short = (text: string) => (text.length > SHOWN_UNITS || text.includes("\n") ? "(…)" : text);

const SHOWN_UNITS = 40;
