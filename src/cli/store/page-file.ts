import { amount, size } from "../../platform/figures.ts";
import { writeResultFile } from "../../platform/result-file.ts";
import { inLine } from "../../platform/visible.ts";
import { fileOf, isReplaceable, pageSource, type Trace } from "../../view/index.ts";
import { UsageError } from "../flags/usage.ts";
import type { Terminal } from "../render/terminal.ts";

/** MB that a page takes, unless the user says otherwise. */
export const MAX_MB = 32;

/** The page holds texts of a session: it is its owner's alone. */
const MODE = 0o600;

/** @throws UsageError for a file that is there and is not a page of Belay */
export function checkPageFile(file: string, tryThis: string): void {
  if (file === "-" || isReplaceable(file)) return;
  throw new UsageError(`${file} is there, and is not a page of belay view`, tryThis);
}

/**
 * Writes a page, and says on stderr what it holds. Gives its bytes; null: it went to stdout.
 *
 * @param cure a clause that says how to leave the texts out
 * @throws RlmError `output_failed`
 */
export async function writePage(
  file: string,
  trace: Trace,
  { stdout, stderr }: Terminal,
  cure: string,
): Promise<number | null> {
  const pieces = fileOf(trace, await pageSource());
  if (file === "-") {
    for (const piece of pieces) stdout.writeRaw(piece);
    return null;
  }
  const bytes = await writeResultFile(file, pieces, String(process.pid), MODE);
  const { calls, subject, texts, cut_texts, redacted } = trace.head;
  const facts = [amount(calls, subject === "run" ? "job" : "sub-call"), size(bytes)];
  if (texts === "none") facts.push("texts left out");
  else facts.push(texts === "all" ? "texts included" : `${amount(cut_texts, "text")} cut`);
  if (redacted > 0) facts.push(`${amount(redacted, "key")} redacted`);
  const held = subject === "run" ? "ids of jobs and words of errors" : "prompts, answers and passages of P";
  const warning = ` It holds ${held}; ${cure}.`;
  stderr.write(`${inLine(file)}: ${facts.join(", ")}.${texts === "none" ? "" : warning}\n`);
  return bytes;
}
