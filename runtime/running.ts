import type { RunClock } from "./clock.ts";
import type { MachineFault } from "./engine.ts";
import type { GuestLibrary } from "./library.ts";
import { DEFAULT_EXEC_LIMITS } from "./limits.ts";
import { noOutput } from "./output.ts";
import type { CallError, CellEnd, ExecState, Json, PendingCall, ResumeInput, SetAside } from "./protocol.ts";
import { figuresIn, roundedFrom } from "./rounded.ts";

/** The exec that a guest is in, as the machine drives it and the guest's posts change it. */
export interface Running {
  state: ExecState;
  source: string;
  facts: Json;
  /** Calls that were made in this slice and are not sent yet. */
  fresh: PendingCall[];
  /** Ids of calls that the guest waits for. */
  readonly outstanding: Set<string>;
  /** JSON of the cell's result, as it comes from the guest at its end. */
  parts: string[];
  /** UTF-16 units of JSON that parts of the result may still have. */
  room: number;
  /** True if the result is wanted whole, in addition to what the exec keeps of it. */
  wantsWhole: boolean;
  /** The end of the cell; undefined while it runs. */
  done: { readonly ok: boolean; readonly payload: string } | undefined;
  /** Backtrace of the call that is being made, if the exec asked for sites. */
  site: string | undefined;
  /** Bytes in which figures were looked for. */
  searched: number;
  /** Helpers that failed in this exec. */
  asides: SetAside[];
  /** If set, every further call is answered with this error. */
  refusal: CallError | undefined;
  /** A post failed through a fault of the host: the machine must not be used any more. */
  fault: MachineFault | undefined;
}

export function nothingRunning(): Running {
  const input = { state: idleState(), source: "", facts: null, wantsWhole: false };
  return { ...input, outstanding: new Set(), ...atBeginning(), fault: undefined };
}

/** The facts that an exec gathers, as they are when it begins. */
const atBeginning = (): Pick<
  Running,
  "fresh" | "parts" | "room" | "done" | "site" | "searched" | "asides" | "refusal"
> => ({
  fresh: [],
  parts: [],
  room: 0,
  done: undefined,
  site: undefined,
  searched: 0,
  asides: [],
  refusal: undefined,
});

/**
 * Keeps with the exec's state what the library has of it.
 *
 * @param end null: the exec waits for calls
 */
export function keepLibraryState(
  { library, running }: { readonly library: GuestLibrary; readonly running: Running },
  end: CellEnd | null,
): void {
  const { state, facts } = running;
  const kept = library.exec?.kept(end && { end, state, facts }) ?? null;
  if (kept === null) delete running.state.library;
  else running.state.library = kept;
}

/** Makes this the exec that runs. */
export function beginExec(running: Running, input: Omit<ResumeInput, "waiting">): void {
  const { state, source, facts, wantsWhole = false } = input;
  running.outstanding.clear();
  Object.assign(running, { state, source, facts, wantsWhole, ...atBeginning() });
}

/**
 * Warns of figures in a text of the cell's that JavaScript has rounded: the library has their
 * digits. Of an exec so much is looked through
 * as takes little time.
 */
export function warnOfRoundedText(
  { library, clock, running }: { library: GuestLibrary; clock: Pick<RunClock, "offClock">; running: Running },
  text: string,
): void {
  const figures = figuresIn(text);
  if (figures.length === 0) return;
  clock.offClock(() => {
    for (const figure of figures) warnOfFigure(library, running, figure);
  });
}

function warnOfFigure(library: GuestLibrary, running: Running, figure: string): void {
  for (const [name, source] of library.sources(running.facts)) {
    running.searched += source.length;
    const digits = running.searched > MOST_SEARCHED ? null : roundedFrom(figure, source);
    if (digits === null) continue;
    const { warnings } = running.state;
    const known = warnings.indexOf(`number_rounded: ${figure}`);
    if (known >= 0) warnings.splice(known, 1);
    addWarning(running, `number_rounded: ${figure}${KNOWN}${digits} in ${name}`);
  }
}

/** Bytes of sources. */
const MOST_SEARCHED = 500_000_000;
const KNOWN = ", which is ";

/** Adds a warning to the running exec, once. */
export function addWarning({ state: { warnings } }: Pick<Running, "state">, text: string): void {
  const warning = text.slice(0, MAX_WARNING_UNITS);
  const isKnown = warnings.some((one) => one === warning || one.startsWith(warning + KNOWN));
  if (warnings.length < MAX_WARNINGS && !isKnown) warnings.push(warning);
}

const MAX_WARNINGS = 100;
/** Guest code of Belay's own cuts what a warning names. A guest that was taken over does not. */
const MAX_WARNING_UNITS = 4096;

/** The warning that a cell, or the helper that it names, was TypeScript. */
export const TYPES_LEFT_OUT = "typescript_stripped";

/** Between execs, for commands of the host. */
export function idleState(): ExecState {
  return {
    exec_id: "",
    cell: 0,
    limits: DEFAULT_EXEC_LIMITS,
    output: noOutput(),
    warnings: [],
    running_ms: 0,
    next_call: 0,
  };
}
