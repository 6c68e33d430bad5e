import { createInterface } from "node:readline/promises";
import type { Output } from "./terminal.ts";

/** True if a person can be asked: they see stderr and type on stdin. */
export const canAsk = ({ isTerminal }: Pick<Output, "isTerminal">) => isTerminal && process.stdin.isTTY === true;

/**
 * Asks a person at the terminal. Gives what was typed, in small letters; null: the question was
 * interrupted, or stdin has ended.
 */
export async function ask(question: string, stderr: Output, signal: AbortSignal): Promise<string | null> {
  const reader = createInterface({ input: process.stdin, output: process.stderr });
  const ended = new Promise<null>((resolve) => reader.once("close", () => resolve(null)));
  // Without this handler Ctrl-C would only pause the reader.
  reader.once("SIGINT", () => process.kill(process.pid, "SIGINT"));
  try {
    const answered = reader.question(stderr.paint(question), { signal }).catch(() => null);
    return (await Promise.race([answered, ended]))?.trim().toLowerCase() ?? null;
  } finally {
    reader.close();
  }
}
