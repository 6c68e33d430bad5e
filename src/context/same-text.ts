import { hasCode, RlmError } from "../../runtime/index.ts";
import { thousands } from "../platform/figures.ts";
import type { Text } from "./text/text.ts";

/** Compares bytes with those of a text as they come. */
interface SameText {
  /** @throws RlmError `context_changed` if the text is too short for bytes up to a place */
  reaches(end: number): void;
  /** @throws RlmError `context_changed` if the text has other bytes at a place */
  has(at: number, bytes: Uint8Array): void;
}

/**
 * Opens the comparison with a text that a load should give. A page of it that is damaged ends the
 * comparison: the hash at the end still tells.
 *
 * @param name of the source, for people
 */
export function openSameText(text: Text, name: string): SameText {
  let isReadable = true;

  function read(at: number, end: number): Uint8Array | null {
    try {
      return text.read(at, end);
    } catch (error) {
      if (!hasCode(error, "context_lost")) throw error;
      isReadable = false;
      return null;
    }
  }

  return {
    reaches(end) {
      if (end > text.bytes) throw differs(`${name} has more text than was loaded`);
    },
    has(at, bytes) {
      const kept = isReadable ? read(at, at + bytes.length) : null;
      if (kept && Buffer.compare(kept, bytes) !== 0) {
        throw differs(
          `${name} has other text within the ${thousands(bytes.length)} bytes from ${thousands(at)} of P on`,
        );
      }
    },
  };
}

function differs(problem: string): RlmError {
  return new RlmError("context_changed", problem, { suggestion: "Load it again." });
}
