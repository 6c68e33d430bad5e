/** A thrown value, as the prelude's `describe` reports it. */
export interface Thrown {
  /** `error`: an Error with a stack; `value`: anything else; `nothing`: null or undefined. */
  readonly thrown: "error" | "value" | "nothing";
  readonly name: string;
  readonly message: string;
  readonly stack: string;
  /**
   * Names of the error's classes. The frames of their constructors come before the frame of the
   * throw.
   */
  readonly classes: readonly string[];
  /** Only present if the prelude made the error. */
  readonly code?: string;
  readonly suggestion?: string;
}

/**
 * A guest error as the envelope shows it. Line and column are 1-based, in the source as it was
 * written.
 */
export interface GuestError {
  readonly name: string;
  readonly message: string;
  readonly line: number | null;
  readonly column: number | null;
  /** `Name: message` and one `    at …` line per guest frame; no host frames, no host paths. */
  readonly traceback: string;
}

/**
 * Maps a column of a script as it ran to the column in `<cell 3>` or `<helper NAME>` as it was
 * written.
 */
type ColumnMap = (file: string, line: number, column: number) => number;

/**
 * Name of the function that the machine puts around a script. Its frames stand for the script's top
 * level.
 */
export const WRAPPER = "__script";

const MAX_FRAMES = 20;

/** A frame of the guest's own code, with its column where the author wrote it. */
interface GuestFrame {
  /** Absent at the top level of a script. */
  readonly fn: string | undefined;
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/**
 * The frame of a line of the engine's backtrace; undefined if it is not of the guest's own code.
 */
function frameOf(text: string, columnOf: ColumnMap): GuestFrame | undefined {
  const match = /^\s*at (?:(.*?) \()?(<(?:cell \d+|helper [^<>]+|query)>):(\d+):(\d+)\)?$/.exec(text);
  if (!match) return undefined;
  const [, name, file = "", lineText, columnText] = match;
  // This frame is the machine's call of a helper's wrapper.
  if (name === "<eval>" && file.startsWith("<helper ")) return undefined;
  const fn = name === "<eval>" || name === WRAPPER ? undefined : name;
  const line = Number(lineText);
  return { fn, file, line, column: columnOf(file, line, Number(columnText)) };
}

/**
 * The frame in which an error was thrown, if the guest's own code threw it and not a function of
 * the language.
 */
export function throwingFrame({ stack }: Thrown, columnOf: ColumnMap): GuestFrame | undefined {
  return frameOf(stack.split("\n", 1)[0] ?? "", columnOf);
}

/** Keeps the guest's own frames and puts their columns back where the author wrote them. */
export function guestError(thrown: Thrown, columnOf: ColumnMap): GuestError {
  const frames = thrown.stack.split("\n").flatMap((text) => frameOf(text, columnOf) ?? []);
  while (frames[0]?.fn !== undefined && thrown.classes.includes(frames[0].fn)) frames.shift();
  const name = thrown.name || (thrown.thrown === "error" ? "Error" : "Uncaught");
  const heading = thrown.message ? `${name}: ${thrown.message}` : name;
  const shown = frames.slice(0, MAX_FRAMES).map(({ fn, file, line, column }) => {
    const where = `${file}:${line}:${column}`;
    return `    at ${fn ? `${fn} (${where})` : where}`;
  });
  if (frames.length > MAX_FRAMES) shown.push(`    … ${frames.length - MAX_FRAMES} more`);
  return {
    name,
    message: thrown.message,
    line: frames[0]?.line ?? null,
    column: frames[0]?.column ?? null,
    traceback: [heading, ...shown].join("\n"),
  };
}
