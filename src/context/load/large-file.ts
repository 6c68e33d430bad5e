import { crc32 } from "node:zlib";
import { hasCode, RlmError } from "../../../runtime/index.ts";
import type { Pause } from "../pauses.ts";
import { type Decoding, type SurveyedText, surveyText, type TextBytes } from "../text/decode.ts";
import { CHANGED, MOVED_OUT, openStepped, type Refusal, type Roots } from "./roots.ts";

/** Bytes of a file that are read at once. */
const SLICE_BYTES = 2 ** 20;

/** A text file that is too large to be read at once. */
export interface LargeTextFile {
  readonly large: TextBytes;
  readonly decoding: Decoding;
}

/**
 * The first `length` bytes of a file in the roots. What is put behind them meanwhile is not read.
 * Reading them throws RlmError `path_not_found` if they are not what they were at first.
 */
export function bytesOfFile(roots: Roots, path: string, length: number): TextBytes {
  let known: number | undefined;
  return {
    length,
    *slices() {
      using file = opened(roots, path);
      const room = Buffer.allocUnsafeSlow(Math.min(SLICE_BYTES, length));
      let sum = 0;
      for (let at = 0; at < length; at += SLICE_BYTES) {
        const slice = room.subarray(0, Math.min(SLICE_BYTES, length - at));
        if (file.fill(slice, at) < slice.length) throw changed(path);
        sum = crc32(slice, sum);
        yield slice;
      }
      if (known !== undefined && known !== sum) throw changed(path);
      known = sum;
    },
  };
}

function opened(roots: Roots, path: string) {
  const file = openStepped(roots, path);
  if (!("reason" in file)) return file;
  if (file !== MOVED_OUT) throw changed(path);
  throw new RlmError("path_outside_sandbox", `${path} was ${file.reason}`, { suggestion: "Load it again." });
}

function changed(path: string): RlmError {
  return new RlmError("path_not_found", `${path} ${CHANGED.reason}`, { suggestion: "Load it again." });
}

/** The text of a large file, which is read again when it is put into a context, or why it is none. */
export async function surveyed({ large, decoding }: LargeTextFile, pause: Pause): Promise<SurveyedText | Refusal> {
  try {
    const work = surveyText(large, decoding);
    for (;;) {
      const step = work.next();
      if (step.done) return step.value;
      await pause(step.value / SURVEY_COST);
    }
  } catch (error) {
    // Nothing of it is in a context yet, so that it can be left out.
    if (hasCode(error, "path_not_found")) return CHANGED;
    throw error;
  }
}

/** Looking through a text takes about so many times less than putting it into a context. */
const SURVEY_COST = 4;
