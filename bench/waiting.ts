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

/** Each measure has a process of its own; in the smallest form one process has all. */
function processes(): readonly (typeof WAITING)[] {
  const all = WAITING.filter(([, , count]) => count > 0);
  return size(
    all.map((one) => [one]),
    [all],
  );
}

/** What one of each thing that waits takes of a process's memory, beyond the first one. */
export async function benchWaiting(): Promise<Report> {
  const { library } = await buildCommand("bench/session-parts");
  const hold = Promise.withResolvers<{ text: string }>();
  await using server = await startModelServer(() => hold.promise);
  try {
    const notes: string[] = [];
    for (const measures of processes()) {
      const asked = measures.map(([what, , count]) => `${what}=${count}`);
      const args = ["--expose-gc", PROCESS, library, server.url, ...asked];
      const { stdout } = await promisify(execFile)(process.execPath, args);
      const taken = stdout.trim().split("\n").map(Number);
      for (const [n, [, said, count]] of measures.entries()) {
        const kb = ((taken[n] ?? Number.NaN) / 1024).toFixed(1);
        notes.push(`one ${said} takes ${kb} KB, of ${count.toLocaleString("en")}`);
      }
    }
    return { title: "waiting: what one of each thing that waits takes of memory", cases: [], notes, aims: [] };
  } finally {
    hold.resolve({ text: "late" });
  }
}
