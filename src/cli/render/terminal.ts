import { styleText } from "node:util";
import { errorCode } from "../../home.ts";

export type Style = Parameters<typeof styleText>[0];

/** One of the process's streams. On a terminal, text is shown so that it cannot steer the terminal. */
export interface Output {
  readonly isTerminal: boolean;
  /** Characters in a line, for layout. */
  readonly columns: number;
  /** Whether styles show: a terminal that is not dumb, and no NO_COLOR. */
  readonly colours: boolean;
  /** Text as it is shown here: on a terminal styled, with control characters other than \n and \t escaped. */
  paint(text: string, style?: Style): string;
  /** Writes text as `paint` shows it. */
  write(text: string, style?: Style): void;
  /** Writes as it is, control sequences included. */
  writeRaw(text: string): void;
}

export interface Terminal {
  readonly stdout: Output;
  readonly stderr: Output;
}

const COLUMNS_OF_A_FILE = 100;

/**
 * The process's stdout and stderr. `onClosed` is called once when nothing more can be written to stdout, with the exit
 * code to end with: 0 if its reader has gone away, 1 if writing failed (stderr then says why).
 */
export function processTerminal(onClosed: (exitCode: number) => void): Terminal {
  let isClosed = false;
  process.stdout.on("error", (error) => {
    if (isClosed) return;
    isClosed = true;
    const isGone = errorCode(error) === "EPIPE";
    if (!isGone) process.stderr.write(`belay: stdout cannot be written (${errorCode(error)})\n`);
    onClosed(isGone ? 0 : 1);
  });
  process.stderr.on("error", () => {});
  return { stdout: outputOver(process.stdout, process.env), stderr: outputOver(process.stderr, process.env) };
}

function outputOver(stream: NodeJS.WriteStream, env: NodeJS.ProcessEnv): Output {
  const isTerminal = stream.isTTY === true;
  const colours = isTerminal && !env.NO_COLOR && env.TERM !== "dumb";
  const paint = (text: string, style?: Style) => {
    const shown = isTerminal ? visible(text) : text;
    return style && colours ? styleText(style, shown, { validateStream: false }) : shown;
  };
  return {
    isTerminal,
    get columns() {
      return isTerminal ? stream.columns || COLUMNS_OF_A_FILE : COLUMNS_OF_A_FILE;
    },
    colours,
    paint,
    write: (text, style) => {
      stream.write(paint(text, style));
    },
    writeRaw: (text) => {
      stream.write(text);
    },
  };
}

/** Control characters other than \n and \t as `\r` or `\x1b`. */
export function visible(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, (character) =>
    character === "\r" ? "\\r" : `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`,
  );
}
