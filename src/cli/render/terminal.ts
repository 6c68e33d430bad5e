import { once } from "node:events";
import { styleText } from "node:util";
import { encodable } from "../../../runtime/index.ts";
import { errorCode } from "../../platform/errors.ts";
import { inLine, jsonText, visible } from "../../platform/visible.ts";

export type Style = Parameters<typeof styleText>[0];

/**
 * One of the process's streams. On a terminal, text is shown so that it cannot steer the terminal.
 */
export interface Output {
  readonly isTerminal: boolean;
  /** Characters in a line, for layout. */
  readonly columns: number;
  /** True if styles show: on a terminal that is not dumb, without NO_COLOR. */
  readonly colours: boolean;
  /**
   * Text as a person reads it: styled on a terminal; what steers or hides is a code point
   * everywhere.
   */
  paint(text: string, style?: Style): string;
  /** Writes text as `paint` shows it. */
  write(text: string, style?: Style): void;
  /** Writes a text on one line: what would end it is a code point. */
  line(text: string, style?: Style): void;
  /** Writes a value as JSON on one line, for programs. */
  json(value: object): void;
  /** Writes as it is: control sequences, JSON, and data into a pipe. Only halves of characters are code points. */
  writeRaw(text: string): void;
}

/** Both streams of the process. */
export interface Terminal {
  readonly stdout: Output;
  readonly stderr: Output;
}

const COLUMNS_OF_A_FILE = 100;

/**
 * The process's stdout and stderr. `onClosed` is called once when nothing more can be written to
 * stdout. It gets the exit code: 0 if the reader has gone away, 1 if writing failed (stderr then
 * says why).
 */
export function processTerminal(onClosed: (exitCode: number) => void): Terminal {
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

/** Writes pieces of data into stdout as its reader takes them, until it has gone. */
export async function writePieces(
  stdout: Pick<Output, "writeRaw">,
  pieces: Iterable<string> | AsyncIterable<string>,
): Promise<void> {
  for await (const piece of pieces) {
    if (process.stdout.destroyed) return;
    stdout.writeRaw(piece);
    await stdoutTaken();
  }
}

/** Waits until a slow reader of stdout has taken what was written, or is gone: more of it would be held in memory. */
export async function stdoutTaken(): Promise<void> {
  if (process.stdout.writableNeedDrain) await once(process.stdout, "drain").catch(() => {});
}

type Stream = Pick<NodeJS.WriteStream, "isTTY" | "columns"> & { write(text: string): unknown };

/** Writes to one stream. */
export function outputOver(stream: Stream, env: NodeJS.ProcessEnv): Output {
  const isTerminal = stream.isTTY === true;
  const colours = isTerminal && !env.NO_COLOR && env.TERM !== "dumb";
  const paint = (text: string, style?: Style) => {
    const shown = visible(text);
    return style && colours ? styleText(style, shown, { validateStream: false }) : shown;
  };
  return {
    isTerminal,
    get columns() {
      return (isTerminal && stream.columns) || COLUMNS_OF_A_FILE;
    },
    colours,
    paint,
    write: (text: string, style?: Style): void => void stream.write(paint(text, style)),
    line: (text: string, style?: Style): void => void stream.write(paint(`${inLine(text)}\n`, style)),
    json: (value: object): void => void stream.write(`${jsonText(value)}\n`),
    writeRaw: (text: string): void => void stream.write(encodable(text)),
  };
}

/**
 * Writes the data of a cell or a command. A pipe or file gets it as it is, a terminal as a person
 * reads it.
 */
export function writeData(output: Pick<Output, "isTerminal" | "write" | "writeRaw">, data: string): void {
  if (output.isTerminal) output.write(data);
  else output.writeRaw(data);
}
