import { createHash, hash } from "node:crypto";
import { readFileSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { keepFile } from "../load/kept-files.ts";
import { frameIn, frameOf } from "./frames.ts";
import { type Answer, answerFrame, answerOf } from "./messages.ts";

/** Texts of documents that were read before, in a folder of the user's own. They hold no path, and grant nothing. */
export interface KeptTexts {
  find(key: string): Answer | undefined;
  keep(key: string, answer: Answer): void;
}

const FORMAT = "belay-text-1";
/** The oldest texts go if all of them take more, bytes. */
const MOST_BYTES = 2 ** 30;
const NAME = /^text-[0-9a-f]{64}$/;

const SLICE_BYTES = 8 * 2 ** 20;

/** The key of a text: what was read, as what, and by which reader. The thread does other things in between. */
export async function textKey(facts: readonly string[], original: readonly Uint8Array[]): Promise<string> {
  const key = createHash("sha256").update(JSON.stringify([FORMAT, ...facts, ...original.map(({ length }) => length)]));
  for (const bytes of original) {
    for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
      key.update(bytes.subarray(at, at + SLICE_BYTES));
      if (bytes.length > SLICE_BYTES) await setImmediate();
    }
  }
  return key.digest("hex");
}

export function openKeptTexts(dir: string, most = MOST_BYTES): KeptTexts {
  const pathOf = (key: string) => join(dir, `text-${key}`);
  return {
    find(key) {
      try {
        const bytes = readFileSync(pathOf(key));
        const frame = bytes.subarray(SEAL_UNITS);
        if (bytes.toString("latin1", 0, SEAL_UNITS) !== seal(key, frame)) return undefined;
        // A text that is used stays longest.
        utimesSync(pathOf(key), new Date(), new Date());
        return answerOf(frameIn(frame));
      } catch {
        return undefined;
      }
    },
    keep(key, answer) {
      const frame = Buffer.concat(frameOf(...answerFrame(answer)));
      let room = most;
      const stays = (bytes: number) => {
        room -= bytes;
        return room >= 0;
      };
      const sealed = Buffer.concat([Buffer.from(seal(key, frame)), frame]);
      keepFile(dir, `text-${key}`, sealed, { names: NAME, few: 0, stays });
    },
  };
}

const SEAL_UNITS = 64;

function seal(key: string, frame: Uint8Array): string {
  return hash("sha256", Buffer.concat([Buffer.from(key), frame]));
}
