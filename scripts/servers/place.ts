import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { type Finished, ROOT, run } from "../process.ts";
import type { Llama, RunningServer } from "./llama.ts";

/** What a scene has to work with. */
export interface Place {
  readonly llama: Llama;
  /** The path of the model's file. */
  readonly model: string;
  readonly server: RunningServer;
  /** A folder of the scene's own, with the store in it. */
  readonly folder: string;
}

const COMMAND = join(ROOT, "src/cli/main.ts");

/** Runs `belay` to its end, from the sources, over the place's server. */
export function belay({ folder, server }: Place, args: readonly string[]): Promise<Finished> {
  return run(process.execPath, [COMMAND, ...args, "--base-url", server.url], { cwd: folder, env: environment(folder) });
}

/** A command that runs. */
interface Running {
  /** Sends it a signal, and resolves with its exit code when it is over; null if the signal ended it. */
  end(signal: "SIGINT" | "SIGKILL"): Promise<number | null>;
}

/** Starts `belay`, and resolves when the server computes an answer for it. */
export async function started(place: Place, args: readonly string[]): Promise<Running> {
  const { folder, server } = place;
  const options = { cwd: folder, env: environment(folder), stdio: "ignore" } as const;
  const child = spawn(process.execPath, [COMMAND, ...args, "--base-url", server.url], options);
  const exit = once(child, "exit");
  await until(async () => (await server.busySlots()) > 0, "the server computes an answer");
  return {
    async end(signal) {
      child.kill(signal);
      const [code] = await exit;
      return typeof code === "number" ? code : null;
    },
  };
}

function environment(folder: string): NodeJS.ProcessEnv {
  return { ...process.env, BELAY_HOME: join(folder, "store"), BELAY_CONFIG_HOME: join(folder, "config") };
}

/** Resolves when something holds. @throws Error if it does not within the time, ms */
export async function until(holds: () => Promise<boolean>, what: string, most = 20_000): Promise<void> {
  for (let waited = 0; waited < most; waited += 50) {
    if (await holds()) return;
    await wait(50);
  }
  throw new Error(`not within ${most / 1000} s: ${what}`);
}

/** @throws Error with what was seen unless the expectation holds */
export function expectThat(holds: boolean, what: string, seen: unknown): void {
  if (!holds) throw new Error(`expected ${what}; seen: ${JSON.stringify(seen)?.slice(0, 600)}`);
}
