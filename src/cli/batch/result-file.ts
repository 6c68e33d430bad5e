import { open } from "node:fs/promises";
import type { RlmError } from "../../index.ts";
import { chunks, openSpecial, outputFailed, targetOf, writeResultFile } from "../../platform/result-file.ts";
import { openResultLines, type ResultsAsked } from "./result-lines.ts";
import type { Results } from "./results.ts";

/** Begins the file with all results that there are, in one rename, and goes on behind them. @throws RlmError `output_failed` */
export async function openResultFile(path: string, asked: ResultsAsked): Promise<Results> {
  const lines = openResultLines(asked);
  const { isSpecial } = targetOf(path);
  // Nothing that a device or a pipe was given can be taken back.
  if (!isSpecial) await writeResultFile(path, lines.next(), asked.run);
  const file = await (isSpecial ? openSpecial(path) : open(path, "a")).catch((error: unknown) => {
    throw outputFailed(path, error);
  });
  let problem: RlmError | null = null;
  let before = Promise.resolve();
  const fail = (error: unknown) => {
    problem ??= outputFailed(path, error);
  };
  const follow = async () => {
    if (problem) return;
    for await (const piece of chunks(lines.next())) await file.write(piece);
  };
  return {
    get problem() {
      return problem;
    },
    follow() {
      before = before.then(follow).catch(fail);
      return before;
    },
    async close() {
      await before;
      if (!isSpecial) await file.sync().catch(fail);
      await file.close();
    },
  };
}
