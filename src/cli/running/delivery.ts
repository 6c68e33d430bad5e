import { RlmError } from "../../index.ts";
import { writeResultFile } from "../../platform/result-file.ts";
import type { Outcome, Written } from "../render/envelope.ts";
import { formatOfFile, formatted } from "../render/formats.ts";
import { isResultLeftOut } from "../render/warnings.ts";
import type { CliSession } from "../session/session.ts";

/**
 * The file of a result, written before the end of its exec is recorded.
 * @param isLast the result of an earlier cell goes nowhere but to stdout
 */
export function openDelivery({ output, session, kept }: CliSession, isLast = true) {
  const { file: path, format } = output;
  if (path === null || !isLast) return { asked: {}, again: async () => {}, written: () => null };
  let written: Written | null = null;
  const write = (pieces: Iterable<string>) => writeResultFile(path, pieces, session.id);
  const deliver = async (json: string): Promise<void> => {
    let pieces: Iterable<string>;
    try {
      pieces = formatted(json, format ?? formatOfFile(path, json));
    } catch (error) {
      if (!(error instanceof RlmError)) throw error;
      // An exec that can be resumed is not over, and loses nothing.
      if (!kept) await write(formatted(json, "json"));
      const cure = kept
        ? "Resume it with --format json, or with --output and another name: nothing that was answered is asked for again."
        : `${path} has it as JSON.`;
      throw new RlmError("output_failed", error.message, { suggestion: cure, cause: error });
    }
    written = { path, bytes: await write(pieces) };
  };
  return {
    /** Options of `exec`, `query` and `resume` of a session. */
    asked: { deliver },
    /**
     * Delivers an outcome that was recorded before. Its exec has ended, so only its kept result can
     * be written.
     *
     * @throws RlmError
     */
    async again(envelope: Outcome) {
      const isThere = envelope.success && !envelope.warnings.some(isResultLeftOut);
      if (isThere) await deliver(JSON.stringify("answer" in envelope ? envelope.answer : envelope.result_json));
    },
    /** The written result, or null. */
    written: () => written,
  };
}
