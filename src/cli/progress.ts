import type { Progress } from "../index.ts";
import { amount, megabytes } from "./numbers.ts";
import type { Output } from "./terminal.ts";

/** Says on stderr what takes long. */
export interface ProgressLine {
  /** Something that may take long begins: a load of this source, or a cell. */
  begin(source?: string): void;
  report(progress: Progress): void;
  /** Takes the line away before other output. */
  end(): void;
}

const QUIET_MS = 1000;
const TERMINAL_STEP_MS = 100;
const FILE_STEP_MS = 3000;

/**
 * Speaks after a second: on a terminal in one line that is rewritten, elsewhere with a line every three seconds.
 *
 * @param now ms, monotonic
 */
export function openProgress(output: Output, now: () => number): ProgressLine {
  let beganAt = now();
  let saidAt = Number.NEGATIVE_INFINITY;
  let source = "";
  let onLine = false;

  function say(text: string): void {
    const at = now();
    if (at - beganAt < QUIET_MS || at - saidAt < (output.isTerminal ? TERMINAL_STEP_MS : FILE_STEP_MS)) return;
    saidAt = at;
    if (!output.isTerminal) {
      output.write(`${text}\n`);
      return;
    }
    output.writeRaw("\r\x1b[K");
    output.write(text.replaceAll(/\s/g, " ").slice(0, output.columns - 1), "dim");
    onLine = true;
  }

  return {
    begin(of = "") {
      beganAt = now();
      saidAt = Number.NEGATIVE_INFINITY;
      source = of;
    },
    report(progress) {
      if (progress.kind === "notice") say(progress.text);
      else say(`loading ${source}: ${amount(progress.files, "file")}, ${megabytes(progress.bytes)}`);
    },
    end() {
      if (onLine) output.writeRaw("\r\x1b[K");
      onLine = false;
    },
  };
}

/** For --quiet. */
export const noProgress: ProgressLine = { begin() {}, report() {}, end() {} };
