import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startModelServer } from "../tests/support/model-server.ts";
import { buildCommand } from "./built.ts";
import type { Report } from "./report.ts";
import { size } from "./size.ts";

const PROCESS = fileURLToPath(new URL("./waiting-process.ts", import.meta.url));

/** Each thing that waits, by its name in the process, and how many of it. */
const WAITING: readonly (readonly [what: string, said: string, count: number])[] = [
  ["rest", "session at rest", size(1000, 1)],
  ["rest", "session at rest", size(10_000, 0)],
  ["parked", "parked job", size(1000, 1)],
  ["parked", "parked job", size(10_000, 0)],
  ["asks", "open ask", size(1000, 1)],
  ["calls", "cell that waits for a sub-call", size(100, 1)],
];

/** What one of each thing that waits takes of a process's memory, beyond the first one. */
export async function benchWaiting(): Promise<Report> {
  const { library } = await buildCommand("bench/session-parts");
  const hold = Promise.withResolvers<{ text: string }>();
  await using server = await startModelServer(() => hold.promise);
  try {
    const notes: string[] = [];
    for (const [what, said, count] of WAITING.filter(([, , count]) => count > 0)) {
      const args = ["--expose-gc", PROCESS, what, library, server.url, String(count)];
      const { stdout } = await promisify(execFile)(process.execPath, args);
      notes.push(`one ${said} takes ${(Number(stdout) / 1024).toFixed(1)} KB, of ${count.toLocaleString("en")}`);
    }
    return { title: "waiting: what one of each thing that waits takes of memory", cases: [], notes, aims: [] };
  } finally {
    hold.resolve({ text: "late" });
  }
}
