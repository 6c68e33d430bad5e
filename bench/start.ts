import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { type BuiltCommand, buildCommand } from "./built.ts";
import { type Contestant, median, takeTurns, timed } from "./measure.ts";
import { aimAtMost, type Report } from "./report.ts";

/** A process from its start to its end. */
export async function benchStart(): Promise<Report> {
  const built = await buildCommand();
  const contestants: Contestant[] = [
    command("belay exec -e 1+1", [built.main, "exec", "-e", "1+1"], built),
    command("node -p 1+1", ["-p", "1+1"], built),
  ];
  const measured = await takeTurns(contestants, { rounds: 15, warmups: 2 });
  return {
    title: "start: a command from its start to its end",
    cases: [{ name: "1+1", measured }],
    notes: ["The command is built, as npm installs it. An earlier run has kept its modules compiled."],
    aims: [aimAtMost("belay exec -e 1+1 ≤ 150 ms", median(measured[0]?.samples ?? []), 150, " ms")],
  };
}

function command(name: string, args: readonly string[], { home }: BuiltCommand): Contestant {
  const env = { ...process.env, BELAY_HOME: home };
  return {
    name,
    once: () =>
      timed(async () => {
        const { stdout } = await promisify(execFile)(process.execPath, args, { env });
        if (stdout.trim() !== "2") throw new Error(`${name} printed ${stdout}`);
      }),
  };
}
