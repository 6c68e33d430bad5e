import { isAscii } from "node:buffer";
import { checkHelper } from "./cells/helper-check.ts";
import { type Engine, type EngineHost, type HostText, MachineFault, type TextForm } from "./engine.ts";
import { RlmError } from "./errors.ts";
import type { Guest } from "./guest.ts";
import { answerOfLanguage } from "./language.ts";
import type { CallScope, LibraryText } from "./library.ts";
import { LIMITS } from "./limits.ts";
import { appendOutput } from "./output.ts";
import type { CallError, Json, Printed } from "./protocol.ts";
import { roundedIn } from "./rounded.ts";
import { addWarning, type Running, TYPES_LEFT_OUT, warnOfRoundedText } from "./running.ts";

interface PostOptions extends Pick<Guest, "library" | "clock" | "heap" | "scripts" | "running"> {
  /** The engine is opened with what uses the post, so it is there only when the guest posts. */
  engine(): Engine;
  notice(text: string): void;
  printed(part: Printed): void;
}

/** Opens the host's end of the guest's one way out: what each post does, and what it answers. */
export function openPost(options: PostOptions): Pick<EngineHost, "post" | "placing"> {
  const { library, running } = options;
  const scope = scopeOf(options);

  function answer(kind: string, name: string, payload: string): string | HostText {
    switch (kind) {
      case "sync":
        warnOfRoundedText(options, payload);
        return reply((own(library.sync, name) ?? ofLanguage(name))(fromGuest(payload), scope));
      case "site":
        running.site = payload;
        return "";
      case "call":
        warnOfRoundedText(options, payload);
        return startCall(options, scope, name, fromGuest(payload));
      case "print":
        print(options, { stream: name === "stderr" ? "stderr" : "stdout", text: payload });
        return "";
      case "unprinted":
        countUnprinted(running, Number(payload));
        return "";
      case "rounded":
        if (roundedIn(Number(payload))) addWarning(running, `number_rounded: ${Number(payload)}`);
        return "";
      case "room":
        Object.assign(running, { parts: [], room: resultRoom(running) });
        return String(running.room);
      case "part":
        keepPart(running, payload);
        return "";
      case "done":
        running.done = { ok: name === "ok", payload };
        return "";
      case "text":
        return readText(options, name);
      case "bytes":
        return String(Buffer.byteLength(payload));
      default:
        throw new MachineFault(`the guest posted ${kind}`);
    }
  }

  return {
    post(kind, name, payload) {
      try {
        return answer(kind, name, payload);
      } catch (error) {
        return `e${JSON.stringify(callError(running, error))}`;
      }
    },
    placing: (text, make) => placeText(options, text, make),
  };
}

/** The most UTF-16 units that the JSON of a result can have: each is at least one byte. */
function resultRoom({ state, wantsWhole }: Pick<Running, "state" | "wantsWhole">): number {
  return Math.max(state.limits.max_result_bytes, wantsWhole ? LIMITS.wholeResultBytes : 0);
}

/** The exec as a builtin's host function sees it, and the services that it has for the function. */
function scopeOf({ library, clock, heap, scripts, running, engine, notice }: PostOptions): CallScope {
  return {
    get limits() {
      return running.state.limits;
    },
    get facts() {
      return running.facts;
    },
    warn: (text) => addWarning(running, text),
    answer(given) {
      running.state.answer = given;
    },
    offClock: clock.offClock,
    checkTime() {
      if (clock.shouldStop()) throw new RlmError("js_timeout", "the exec's time is over", { suggestion: TIME_OVER });
    },
    notice,
    checkHelper(name, source) {
      const parts = { reserved: library.reserved, scripts, engine: engine() };
      if (checkHelper(name, source, parts).isTypeScript) addWarning(running, `${TYPES_LEFT_OUT}: helper ${name}`);
    },
    newCalls: () => running.fresh.reduce((sum, { counts = 1 }) => sum + counts, 0),
    newCallsOf: (family) => running.fresh.filter(({ name }) => name.startsWith(`${family}.`)).length,
    sliceMs: clock.sliceMs,
    releaseText(name) {
      engine().releaseText(name);
      heap.grant(0);
    },
  };
}

const ofLanguage = (name: string) => (args: readonly Json[]) => answerOfLanguage(name, args);

/** A cell can catch this error. The engine ends the cell soon afterwards. */
const TIME_OVER = "Search less text or with a simpler pattern, or raise max_execution_ms.";

/** Starts a call of an async builtin. The host sends it when the guest waits for it. */
function startCall({ library, running }: PostOptions, scope: CallScope, name: string, args: readonly Json[]): string {
  if (running.refusal) return `e${JSON.stringify(running.refusal)}`;
  const known = own(library.async, name) ?? own(library.async, name.split(".", 1)[0] ?? "");
  if (!known) {
    const problem = `there is no function ${name.slice(0, MAX_NAME_UNITS)} of the host`;
    throw new RlmError("js_error", problem, { suggestion: "Call the builtins by their names: help() lists them." });
  }
  const counts = known.check(args, scope, name);
  const id = `${running.state.exec_id}.${running.state.next_call++}`;
  const site = running.site === undefined ? undefined : callSite(running.site);
  running.fresh.push({ id, name, args, ...(site ? { site } : {}), ...(counts === 1 ? {} : { counts }) });
  running.outstanding.add(id);
  return `s${id}`;
}

/** Returns the first of the guest's own frames in a backtrace of the engine, without its column. */
function callSite(stack: string): string | undefined {
  return /(<(?:cell \d+|helper [^<>]+|query)>:\d+):\d+/.exec(stack)?.[1];
}

/** A guest that was taken over may post any name. */
const MAX_NAME_UNITS = 100;

/** The value of a record by a name that the guest gives; undefined: it has none of its own. */
const own = <T>(record: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined;

/**
 * Keeps a part of the result. Guest code of Belay's own posts none beyond the room, and none that
 * is empty.
 */
function keepPart(running: Running, part: string): void {
  running.room -= Math.max(1, part.length);
  if (running.room < 0) throw new MachineFault("the guest posted more of a result than there is room for");
  running.parts.push(part);
}

function print(options: PostOptions, part: Printed): void {
  const { running, printed } = options;
  const { output, limits } = running.state;
  const wasTruncated = output.truncated;
  warnOfRoundedText(options, part.text);
  appendOutput(output, part.stream, part.text, limits.max_output_bytes);
  if (!wasTruncated) printed(part);
}

/**
 * The guest does not hand over what a cell prints beyond the limit: it says only how much that is.
 */
function countUnprinted({ state: { output } }: Running, units: number): void {
  if (output.truncated) output.dropped = (output.dropped ?? 0) + units;
}

function readText({ library, clock }: PostOptions, name: string): string | HostText {
  const text = own(library.texts, name);
  return text ? clock.offClock(() => hostText(text.read())) : "";
}

/**
 * Makes the guest's string of a text. Its bytes are granted to the guest on top of the guest's own
 * limit.
 */
function placeText<T>({ heap, clock }: PostOptions, text: HostText, make: () => T): T {
  // The engine makes a wide string as a narrow one first, which takes half of it again until it is
  // done.
  heap.grant(text.bytes + text.units + STRING_SLACK_BYTES);
  try {
    return clock.offClock(make);
  } finally {
    heap.grant(text.bytes + STRING_SLACK_BYTES);
  }
}

/** Bytes that a string of the engine takes beside its characters, and some more. */
export const STRING_SLACK_BYTES = 1024;

/**
 * The guest's view of a failure: all of a mistake of the caller's, nothing but the name of a fault
 * of the host.
 */
function callError(running: Running, error: unknown): CallError {
  if (error instanceof RlmError) {
    const { guestName: name, code, message, suggestion, retriable } = error;
    return { name, code, message, suggestion, ...(retriable === undefined ? {} : { retriable }) };
  }
  running.fault ??= error instanceof MachineFault ? error : new MachineFault(`a builtin failed: ${String(error)}`);
  return { name: "Error", code: "machine_lost", message: "internal error in a builtin", suggestion: "Run it again." };
}

/**
 * A guest that is out of memory cannot hand a string over; the engine then gives a text that is not
 * JSON.
 */
function fromGuest(payload: string): readonly Json[] {
  try {
    return JSON.parse(payload);
  } catch (cause) {
    throw new RlmError("memory_limit_exceeded", "out of memory: the guest heap is full", {
      suggestion: "Keep less in variables, or work in slices.",
      cause,
    });
  }
}

function reply(value: Json): string {
  return typeof value === "string" ? `s${value}` : `j${JSON.stringify(value)}`;
}

/** Reads as much of the text as it takes to know its encoding. */
export function hostText({ utf8, length: units }: ReturnType<LibraryText["read"]>): HostText {
  const view = Buffer.from(utf8.buffer, utf8.byteOffset, utf8.length);
  const encoding: TextForm = utf8.length > units && isWide(view) ? "utf16le" : "latin1";
  return {
    encoding,
    units,
    bytes: encoding === "latin1" ? units : units * 2,
    write(into: Uint8Array): void {
      let at = 0;
      for (const piece of pieces(view, encoding)) {
        into.set(piece, at);
        at += piece.length;
      }
    },
    isIn(memory: Uint8Array): boolean {
      let at = 0;
      for (const piece of pieces(view, encoding)) {
        if (piece.compare(memory, at, at + piece.length) !== 0) return false;
        at += piece.length;
      }
      return at === memory.length;
    },
    toString: () => view.toString("utf8"),
  };
}

/**
 * True if a character is above U+00FF: the engine then keeps the whole text at two bytes a unit.
 */
function isWide(utf8: Buffer): boolean {
  for (let at = 0; at < utf8.length; at++) if ((utf8[at] ?? 0) >= FIRST_WIDE) return true;
  return false;
}

/** First byte of U+0100. */
const FIRST_WIDE = 0xc4;

/** Each piece is there until the next one is asked for. */
function* pieces(utf8: Buffer, encoding: TextForm): Iterable<Buffer> {
  const room = Buffer.allocUnsafe(2 * PIECE_BYTES);
  let start = 0;
  while (start < utf8.length) {
    let end = Math.min(start + PIECE_BYTES, utf8.length);
    // A piece must not end within a character.
    while (end < utf8.length && ((utf8[end] ?? 0) & 0xc0) === 0x80) end--;
    const piece = utf8.subarray(start, end);
    if (encoding === "latin1" && isAscii(piece)) yield piece;
    else yield room.subarray(0, room.write(piece.toString("utf8"), encoding));
    start = end;
  }
}

/** Strings of this size are young when they are collected. */
const PIECE_BYTES = 2 ** 14;
