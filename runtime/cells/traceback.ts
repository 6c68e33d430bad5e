/** A thrown value, as the prelude's `describe` reports it. */
export interface Thrown {
  /** `error`: an Error with a stack; `value`: anything else; `nothing`: null or undefined. */
  readonly thrown: "error" | "value" | "nothing";
  readonly name: string;
  readonly message: string;
  readonly stack: string;
  /** Names of the error's classes. The frames of their constructors come before the frame of the throw. */
  readonly classes: readonly string[];
  /** Only present if the prelude made the error. */
  readonly code?: string;
  readonly suggestion?: string;
}

/** A guest error as the envelope shows it. Line and column are 1-based, in the source as it was written. */
export interface GuestError {
  readonly name: string;
  readonly message: string;
  readonly line: number | null;
  readonly column: number | null;
  /** `Name: message` and one `    at …` line per guest frame; no host frames, no host paths. */
  readonly traceback: string;
}

/** Maps a column of a script as it ran to the column in `<cell 3>` or `<helper NAME>` as it was written. */
export type ColumnMap = (file: string, line: number, column: number) => number;

/** Name of the function that the machine puts around a script. Its frames stand for the script's top level. */
export const WRAPPER = "__script";

const MAX_FRAMES = 20;

/** Returns the first of the guest's own frames in a backtrace of the engine, without its column. */
export function callSite(stack: string): string | undefined {
  return /(<(?:cell \d+|helper [^>]+|query)>:\d+):\d+/.exec(stack)?.[1];
}

/** Keeps the guest's own frames and puts their columns back where the author wrote them. */
export function guestError(thrown: Thrown, columnOf: ColumnMap): GuestError {
  const frames = thrown.stack.split("\n").flatMap((frame) => {
    const found = /^\s*at (?:(.*?) \()?(<(?:cell \d+|helper [^>]+|query)>):(\d+):(\d+)\)?$/.exec(frame);
    if (!found) return [];
    const [, name, file = "", lineText, columnText] = found;
    // This frame is the machine's call of a helper's wrapper.
    if (name === "<eval>" && file.startsWith("<helper ")) return [];
    const fn = name === "<eval>" || name === WRAPPER ? undefined : name;
    const line = Number(lineText);
    return [{ fn, file, line, column: columnOf(file, line, Number(columnText)) }];
  });
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
