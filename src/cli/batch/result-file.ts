import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { RlmError } from "../../index.ts";
import { openSpecial, outputFailed, syncFolder, targetOf } from "../../platform/result-file.ts";
import { openResultLines, type ResultLines, type ResultsAsked } from "./result-lines.ts";
import type { Results } from "./results.ts";

/** Begins the file with all results that there are, in one rename, and goes on behind them. @throws RlmError `output_failed` */
export async function openResultFile(path: string, asked: ResultsAsked): Promise<Results> {
  const lines = openResultLines(asked);
  const target = targetOf(path);
  const temporary = `${target.path}.tmp`;
  try {
    // Nothing that a device or a pipe was given can be taken back.
    if (target.isSpecial) return followed(path, await openSpecial(target.path), lines);
    await rm(temporary, { force: true });
    const file = await open(temporary, "wx", target.mode ?? MODE);
    await writeLines(file, lines);
    await file.sync();
    await rename(temporary, target.path);
    await syncFolder(dirname(target.path));
    return followed(path, file, lines);
  } catch (error) {
    if (!target.isSpecial) await rm(temporary, { force: true });
    throw outputFailed(path, error);
  }
}

/** The umask takes away from it. */
const MODE = 0o666;
const WRITE_UNITS = 2 ** 20;

async function writeLines(file: FileHandle, lines: ResultLines): Promise<void> {
  let held = "";
  for await (const line of lines.next()) {
    held += line;
    if (held.length < WRITE_UNITS) continue;
    await file.write(held);
    held = "";
  }
  if (held !== "") await file.write(held);
}

function followed(path: string, file: FileHandle, lines: ResultLines): Results {
  let problem: RlmError | null = null;
  let before = Promise.resolve();
  const follow = async () => {
    if (problem) return;
    try {
      await writeLines(file, lines);
    } catch (error) {
      problem = outputFailed(path, error);
    }
  };
  return {
    get problem() {
      return problem;
    },
    follow() {
      before = before.then(follow);
      return before;
    },
    async close() {
      await before;
      try {
        if (!targetOf(path).isSpecial) await file.sync();
      } catch (error) {
        problem ??= outputFailed(path, error);
      } finally {
        await file.close();
      }
    },
  };
}
