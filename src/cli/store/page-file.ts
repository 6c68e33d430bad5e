import { RlmError } from "../../index.ts";
import { amount, size } from "../../platform/figures.ts";
import { displayName } from "../../platform/ids.ts";
import { writeResultFile } from "../../platform/result-file.ts";
import { version } from "../../platform/version.ts";
import { inLine } from "../../platform/visible.ts";
import { fileOf, isReplaceable, lookAt, pageSource, type Trace } from "../../view/index.ts";
import { UsageError } from "../flags/usage.ts";
import { showFailure } from "../render/failure.ts";
import { type Terminal, writePieces } from "../render/terminal.ts";
import type { CliSession } from "../session/session.ts";

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
    await writePieces(stdout, pieces);
    return null;
  }
  const bytes = await writeResultFile(file, pieces, String(process.pid), MODE);
  const { calls, subject, texts, cut_texts, redacted } = trace.head;
  const facts = [amount(calls, subject === "run" ? "job" : "call"), size(bytes)];
  if (texts === "none") facts.push("texts left out");
  else facts.push(texts === "all" ? "texts included" : `${amount(cut_texts, "text")} cut`);
  if (redacted > 0) facts.push(`${amount(redacted, "key")} redacted`);
  const held = subject === "run" ? "ids of jobs and words of errors" : "prompts, answers and passages of P";
  const warning = ` It holds ${held}; ${cure}.`;
  stderr.write(`${inLine(file)}: ${facts.join(", ")}.${texts === "none" ? "" : warning}\n`);
  return bytes;
}

/** The page of an answer, as `belay ask --view` writes it. */
interface AskPage {
  readonly file: string;
  /**
   * Writes it. Gives false, and says so, if it could not be written: the answer is there all the
   * same.
   */
  write(terminal: Terminal): Promise<boolean>;
}

/**
 * Opens the page of an ask, before anything is asked.
 *
 * @param typed the file; empty: one in this folder that is named after the session
 * @throws UsageError for a file that is there and is not such a page
 */
export function openAskPage(typed: string, { session, kept, lineAbout, storeWords: store }: CliSession): AskPage {
  const name = displayName(session);
  const file = typed === "" ? `answer-${name.replaceAll(/[^\p{L}\p{N}._-]/gu, "-")}.html` : typed;
  const later = lineAbout(["view"], "-o", "page.html");
  checkPageFile(file, later);
  return {
    file,
    async write(terminal) {
      if (!kept) throw new Error("the page of a session that is not kept cannot be written");
      try {
        const tracing = { texts: true, maxBytes: MAX_MB * 2 ** 20, belay: version(), store, now: Date.now() };
        const { trace } = await lookAt(kept.store, session.id, tracing);
        // The command ends with it, so that nothing is open any more.
        const head = { ...trace.head, session: { ...trace.head.session, status: "idle" } };
        await writePage(file, { ...trace, head }, terminal, `\`${later} --no-texts\` leaves them out`);
        return true;
      } catch (error) {
        if (!(error instanceof RlmError)) throw error;
        showFailure(error, terminal);
        return false;
      }
    },
  };
}
