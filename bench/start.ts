import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Contestant, takeTurns, timed } from "./measure.ts";
import type { Report } from "./report.ts";

const MAIN = fileURLToPath(new URL("../src/cli/main.ts", import.meta.url));

/** A process from its start to its end. */
export async function benchStart(): Promise<Report> {
  const contestants: Contestant[] = [
    command("belay exec -e 1+1", [MAIN, "exec", "-e", "1+1"]),
    command("node -p 1+1", ["-p", "1+1"]),
  ];
  return {
    title: "start: a command from its start to its end",
    cases: [{ name: "1+1", measured: await takeTurns(contestants, { rounds: 15, warmups: 2 }) }],
    notes: ["Belay's sources run unbuilt here: Node strips their types at each start."],
    aims: [],
  };
}

function command(name: string, args: readonly string[]): Contestant {
  return {
    name,
    once: () =>
      timed(async () => {
        const { stdout } = await promisify(execFile)(process.execPath, args);
        if (stdout.trim() !== "2") throw new Error(`${name} printed ${stdout}`);
      }),
  };
}
