import { createHash } from "node:crypto";
import { readFile, utimes } from "node:fs/promises";
import { join } from "node:path";
import { keepFile } from "../context/load/kept-files.ts";
import { inSlices, pauses } from "../context/pauses.ts";
import { type Answer, answerFrame, answerOf, frameIn } from "./messages.ts";

const FORMAT = "belay-text-2";
/** The oldest texts go if all of them take more, bytes. */
const MOST_BYTES = 2 ** 30;
const NAME = /^text-[0-9a-f]{64}$/;

/** The key of a text: what was read, as what, and by which reader. */
export function textKey(facts: readonly string[], original: readonly Uint8Array[]): Promise<string> {
  return digest(JSON.stringify([FORMAT, ...facts, ...original.map(({ length }) => length)]), original);
}

/** SHA-256, hex. The thread does other things in between. */
async function digest(start: string, pieces: readonly Uint8Array[]): Promise<string> {
  const sum = createHash("sha256").update(start);
  const pause = pauses();
  for (const bytes of pieces) for await (const slice of inSlices(bytes, pause)) sum.update(slice);
  return sum.digest("hex");
}

/** Texts of documents that were read before, in a folder of the user's own. They hold no path, and grant nothing. */
export function openKeptTexts(dir: string, most = MOST_BYTES) {
  const pathOf = (key: string) => join(dir, `text-${key}`);
  return {
    async find(key: string): Promise<Answer | undefined> {
      try {
        const bytes = await readFile(pathOf(key));
        const frame = bytes.subarray(SEAL_UNITS);
        if (bytes.toString("latin1", 0, SEAL_UNITS) !== (await digest(key, [frame]))) return undefined;
        // A text that is used stays longest.
        await utimes(pathOf(key), new Date(), new Date());
        return answerOf(frameIn(frame));
      } catch {
        return undefined;
      }
    },
    async keep(key: string, answer: Answer): Promise<void> {
      const frame = answerFrame(answer);
      let room = most;
      const stays = (bytes: number) => {
        room -= bytes;
        return room >= 0;
      };
      const sealed = [Buffer.from(await digest(key, frame)), ...frame];
      await keepFile(dir, `text-${key}`, sealed, { names: NAME, few: 0, stays });
    },
  };
}

const SEAL_UNITS = 64;
