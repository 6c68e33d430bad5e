import { createHash, hash } from "node:crypto";
import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { makeFolder } from "../../platform/make-folder.ts";
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
        // What is used stays longest.
        utimesSync(pathOf(key), new Date(), new Date());
        return answerOf(frameIn(frame));
      } catch {
        return undefined;
      }
    },
    keep(key, answer) {
      const temporary = `${pathOf(key)}.${process.pid}`;
      try {
        makeFolder(dir);
        const frame = Buffer.concat(frameOf(...answerFrame(answer)));
        writeFileSync(temporary, Buffer.concat([Buffer.from(seal(key, frame)), frame]), { mode: 0o600 });
        renameSync(temporary, pathOf(key));
        dropOldest(dir, most);
      } catch {
        // The next load reads the document again.
        if (existsSync(temporary)) rmSync(temporary);
      }
    },
  };
}

const SEAL_UNITS = 64;

function seal(key: string, frame: Uint8Array): string {
  return hash("sha256", Buffer.concat([Buffer.from(key), frame]));
}

function dropOldest(dir: string, most: number): void {
  const names = readdirSync(dir).filter((name) => NAME.test(name));
  const kept = names.flatMap((name) => {
    const stats = statSync(join(dir, name), { throwIfNoEntry: false });
    return stats ? [{ name, at: stats.mtimeMs, size: stats.size }] : [];
  });
  let sum = 0;
  for (const { name, size } of kept.sort((a, b) => b.at - a.at)) {
    sum += size;
    if (sum > most) rmSync(join(dir, name), { force: true });
  }
}
