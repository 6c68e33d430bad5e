import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Json } from "../../index.ts";
import { commandLine } from "../flags/usage.ts";
import type { Host } from "../host.ts";
import type { Output, Style } from "../render/terminal.ts";
import { paragraph } from "../render/wrap.ts";
import type { Stop } from "../stop.ts";
import { startBelay } from "./process.ts";
import { LETTERS } from "./text.ts";

/** Where a demo plays. */
export interface Stage {
  /** Gets the letters, the cell and the store. */
  readonly folder: string;
  readonly host: Host;
  readonly stop: Stop;
  /** null: nothing is told while it runs. */
  readonly output: Output | null;
}

/** The name under which the scripted model is asked. */
export const MODEL = "scripted/reader";

export function writeLetters(folder: string): void {
  mkdirSync(join(folder, "letters"));
  for (const [name, text] of Object.entries(LETTERS)) writeFileSync(join(folder, "letters", name), `${text}\n`);
}

/** Runs a command to its end, which must be a success; shows it and what it printed. Gives its result. */
export async function succeeded(args: readonly string[], { folder, stop, output }: Stage): Promise<Json> {
  showCommand(commandLine(args), output);
  const { code, stdout, stderr } = await startBelay(args, folder, stop.signal).ended;
  stop.signal.throwIfAborted();
  if (code !== 0) throw broken(`\`${commandLine(args)}\` ended with ${code}: ${stderr || stdout}`);
  output?.write(stderr, "dim");
  output?.write(stdout);
  return JSON.parse(stdout);
}

export function showCommand(line: string, output: Output | null): void {
  output?.write(`$ ${line}\n`, "cyan");
}

const WIDEST = 100;

export function say(text: string, output: Output | null, style?: Style): void {
  output?.write(`${paragraph(text, Math.min(output.columns, WIDEST))}\n`, style);
}

export function broken(problem: string): Error {
  return new Error(`the demo did not come to its end: ${problem}`);
}
