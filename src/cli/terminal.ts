import { styleText } from "node:util";

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

/** The process's stdout and stderr. `onClosed` is called once when the reader of stdout has gone away. */
export function processTerminal(onClosed: () => void): Terminal {
  const stdout = outputOver(process.stdout, process.env);
  const stderr = outputOver(process.stderr, process.env);
  process.stdout.on("error", (error) => {
    if (isClosedPipe(error)) onClosed();
    else throw error;
  });
  process.stderr.on("error", (error) => {
    if (!isClosedPipe(error)) throw error;
  });
  return { stdout, stderr };
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

function isClosedPipe(error: Error): boolean {
  return "code" in error && (error.code === "EPIPE" || error.code === "ERR_STREAM_DESTROYED");
}

/** Control characters other than \n and \t as `\r` or `\x1b`. */
export function visible(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, (character) =>
    character === "\r" ? "\\r" : `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`,
  );
}
