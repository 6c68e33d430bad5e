import { RlmError } from "../../index.ts";
import { targetOf, writeResultFile } from "../running/result-file.ts";
import type { ResultFile } from "./result-file.ts";
import type { FinalJobs } from "./result-lines.ts";
import { tableLines } from "./result-table.ts";

/** A table is written whole, when the command begins and when it ends: a later result may need a further column. @throws RlmError `output_failed` */
export async function openTableFile(path: string, asked: FinalJobs): Promise<ResultFile> {
  const write = () => writeResultFile(path, tableLines(asked), asked.run);
  let problem: RlmError | null = null;
  // What a device or a pipe was given cannot be written again.
  if (!targetOf(path).isSpecial) await write();
  return {
    get problem() {
      return problem;
    },
    follow: async () => {},
    async close() {
      try {
        await write();
      } catch (error) {
        if (!(error instanceof RlmError)) throw error;
        problem = error;
      }
    },
  };
}
