import type { RunClock } from "./clock.ts";
import { type Engine, MachineFault } from "./engine.ts";
import { RlmError } from "./errors.ts";
import { checkHelper } from "./helper-check.ts";
import type { CallScope, Library } from "./library.ts";
import { appendOutput, type Stream } from "./output.ts";
import type { CallError, Json, Printed } from "./protocol.ts";
import { type Running, resultRoom } from "./running.ts";
import type { Scripts } from "./scripts.ts";
import { type HostText, hostText } from "./texts.ts";
import { callSite } from "./traceback.ts";

export interface PostOptions {
  readonly library: Omit<Library, "receive">;
  readonly memoryBytes: number;
  readonly clock: RunClock;
  readonly scripts: Scripts;
  readonly running: Running;
  /** The engine is opened with `post`, so it is there only when the guest posts. */
  engine(): Engine;
  notice(text: string): void;
  printed(part: Printed): void;
}

/** The host's end of the guest's one way out: what each post does, and what it answers. */
export interface Post {
  /** As `EngineHost.post`. */
  post(kind: string, name: string, payload: string): string | HostText;
  /** As `EngineHost.placing`. */
  placing<T>(text: HostText, make: () => T): T;
  /** Adds a warning to the running exec, once. */
  warn(text: string): void;
}

export function openPost(options: PostOptions): Post {
  const { library, clock, scripts, running, engine } = options;
  const scope: CallScope = {
    get limits() {
      return running.state.limits;
    },
    get facts() {
      return running.facts;
    },
    warn,
    offClock: clock.offClock,
    notice: options.notice,
    checkHelper: (name, helper) => checkHelper(name, helper, { reserved: library.reserved, scripts, engine: engine() }),
    newCalls: () => running.fresh.length,
    sliceMs: clock.sliceMs,
    releaseText(name) {
      engine().releaseText(name);
      grant(0);
    },
  };

  function grant(bytes: number): void {
    running.granted = bytes;
    engine().setMemoryLimit(options.memoryBytes + bytes);
  }

  function post(kind: string, name: string, payload: string): string | HostText {
    try {
      switch (kind) {
        case "sync":
          return reply(library.sync[name]?.(fromGuest(payload), scope) ?? null);
        case "site":
          running.site = payload;
          return "";
        case "call":
          return startCall(name, fromGuest(payload));
        case "print":
          print(name === "stderr" ? "stderr" : "stdout", payload);
          return "";
        case "unprinted":
          dropOutput(Number(payload));
          return "";
        case "room":
          running.parts = [];
          return String(resultRoom(running));
        case "part":
          running.parts.push(payload);
          return "";
        case "done":
          running.done = { ok: name === "ok", payload };
          return "";
        case "text":
          return takeText(name);
        case "bytes":
          return String(Buffer.byteLength(payload));
        default:
          throw new MachineFault(`the guest posted ${kind}`);
      }
    } catch (error) {
      return `e${JSON.stringify(callError(error))}`;
    }
  }

  function takeText(name: string): string | HostText {
    const text = library.texts[name];
    return text ? clock.offClock(() => hostText(text.read())) : "";
  }

  function placing<T>(text: HostText, make: () => T): T {
    // The engine makes a wide string as a narrow one first, which takes half of it again until it is done.
    grant(text.bytes + text.units + STRING_SLACK_BYTES);
    try {
      return clock.offClock(make);
    } finally {
      grant(text.bytes + STRING_SLACK_BYTES);
    }
  }

  function print(stream: Stream, text: string): void {
    const wasTruncated = running.state.output.truncated;
    appendOutput(running.state.output, stream, text, running.state.limits.max_output_bytes);
    if (!wasTruncated) options.printed({ stream, text });
  }

  /** What a cell printed beyond the limit is not even handed over. */
  function dropOutput(units: number): void {
    const { output } = running.state;
    if (output.truncated) output.dropped = (output.dropped ?? 0) + units;
  }

  function startCall(name: string, args: readonly Json[]): string {
    if (running.refusal) return `e${JSON.stringify(running.refusal)}`;
    library.async[name]?.check(args, scope);
    const id = `${running.state.exec_id}.${running.state.next_call++}`;
    const where = running.site === undefined ? undefined : callSite(running.site);
    running.fresh.push({ id, name, args, ...(where ? { site: where } : {}) });
    running.outstanding.add(id);
    return `s${id}`;
  }

  /** What the guest may know of a failure: a mistake of the caller whole, a fault of ours by name alone. */
  function callError(error: unknown): CallError {
    if (error instanceof RlmError) {
      const { guestName: name, code, message, suggestion, retriable } = error;
      return { name, code, message, suggestion, ...(retriable === undefined ? {} : { retriable }) };
    }
    running.fault ??= error instanceof MachineFault ? error : new MachineFault(`a builtin failed: ${String(error)}`);
    return { name: "Error", code: "machine_lost", message: "the builtin failed inside", suggestion: "Run it again." };
  }

  function warn(text: string): void {
    if (!running.state.warnings.includes(text) && running.state.warnings.length < 100)
      running.state.warnings.push(text);
  }

  return { post, placing, warn };
}

const STRING_SLACK_BYTES = 1024;

/** A guest that is out of memory cannot hand a string over; the engine then gives a text that is no JSON. */
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
