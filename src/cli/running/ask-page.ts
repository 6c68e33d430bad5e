import { RlmError } from "../../index.ts";
import { displayName } from "../../platform/ids.ts";
import { version } from "../../platform/version.ts";
import { lookAt } from "../../view/index.ts";
import { showFailure } from "../render/failure.ts";
import type { Terminal } from "../render/terminal.ts";
import type { CliSession } from "../session/session.ts";
import { checkPageFile, MAX_MB, writePage } from "../store/page-file.ts";

/** The page of an answer, as `belay ask --view` writes it. */
export interface AskPage {
  readonly file: string;
  /** Writes it. Gives false, and says so, if it could not be written: the answer is there all the same. */
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
