import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { type BuiltCommand, buildCommand } from "./built.ts";
import { type Contestant, takeTurns, timed } from "./measure.ts";
import type { Report } from "./report.ts";

/** A process from its start to its end. */
export async function benchStart(): Promise<Report> {
  const built = await buildCommand();
  const contestants: Contestant[] = [
    command("belay exec -e 1+1", [built.main, "exec", "-e", "1+1"], built),
    command("node -p 1+1", ["-p", "1+1"], built),
  ];
  return {
    title: "start: a command from its start to its end",
    cases: [{ name: "1+1", measured: await takeTurns(contestants, { rounds: 15, warmups: 2 }) }],
    notes: ["The command is built, as npm installs it. An earlier run has kept its modules compiled."],
    aims: [],
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
