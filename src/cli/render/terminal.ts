import { styleText } from "node:util";
import { errorCode } from "../../platform/errors.ts";
import { visible } from "../../platform/visible.ts";

export type Style = Parameters<typeof styleText>[0];

/** One of the process's streams. On a terminal, text is shown so that it cannot steer the terminal. */
export type Output = Readonly<ReturnType<typeof outputOver>>;

export type Terminal = Readonly<ReturnType<typeof processTerminal>>;

const COLUMNS_OF_A_FILE = 100;

/**
 * The process's stdout and stderr. `onClosed` is called once when nothing more can be written to stdout. It
 * gets the exit code: 0 if the reader has gone away, 1 if writing failed (stderr then says why).
 */
export function processTerminal(onClosed: (exitCode: number) => void) {
  let isClosed = false;
  process.stdout.on("error", (error) => {
    if (isClosed) return;
    isClosed = true;
    const isGone = errorCode(error) === "EPIPE";
    if (!isGone) {
      process.stderr.write(`belay: stdout cannot be written (${errorCode(error)})\n`);
      // The command may have ended well before the error came.
      process.once("exit", (code) => (process.exitCode = code || 1));
    }
    onClosed(isGone ? 0 : 1);
  });
  process.stderr.on("error", () => {});
  return { stdout: outputOver(process.stdout, process.env), stderr: outputOver(process.stderr, process.env) };
}

type Stream = Pick<NodeJS.WriteStream, "isTTY" | "columns"> & { write(text: string): unknown };

/** Writes to one stream. */
export function outputOver(stream: Stream, env: NodeJS.ProcessEnv) {
  const isTerminal = stream.isTTY === true;
  const colours = isTerminal && !env.NO_COLOR && env.TERM !== "dumb";
  const paint = (text: string, style?: Style) => {
    const shown = visible(text);
    return style && colours ? styleText(style, shown, { validateStream: false }) : shown;
  };
  return {
    isTerminal,
    /** Characters in a line, for layout. */
    get columns() {
      return (isTerminal && stream.columns) || COLUMNS_OF_A_FILE;
    },
    /** True if styles show: on a terminal that is not dumb, without NO_COLOR. */
    colours,
    /** Text as a person reads it: on a terminal styled; what steers or hides is a code point on a terminal and elsewhere. */
    paint,
    /** Writes text as `paint` shows it. */
    write: (text: string, style?: Style): void => void stream.write(paint(text, style)),
    /** Writes as it is: control sequences, JSON, and data into a pipe. */
    writeRaw: (text: string): void => void stream.write(text),
  };
}

/** Writes the data of a cell or a command. A pipe or file gets it as it is, a terminal as a person reads it. */
export function writeData(output: Pick<Output, "isTerminal" | "write" | "writeRaw">, data: string): void {
  if (output.isTerminal) output.write(data);
  else output.writeRaw(data);
}
