import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { type Host, processHost } from "../../../src/cli/commands/define.ts";
import { commandHere } from "../../support/command-here.ts";
import type { ModelServer } from "../../support/model-server.ts";
import { storeAround, WRITES } from "../../support/store-around.ts";
import { folderWith } from "../../support/tree.ts";
import type { Run, RunOptions } from "./belay.ts";

/** A command takes the streams, the folder and the variables of this process, so it waits for the one before. */
let before: Promise<unknown> = Promise.resolve();

/**
 * Runs a command in this process, which costs less than half of what a process of its own costs. It is for tests in which
 * no process ends early or stands at a terminal.
 */
export function belayHere(args: readonly string[], options: HereOptions = {}): Promise<Run> {
  return inTurn(args, options, async (running) => await running);
}

type HereOptions = Omit<RunOptions, "onOutput">;

/**
 * Runs a command in this process until the server has so many requests more. From then on nothing is kept of what it does, as
 * if it had been killed; `endedAt` kills one.
 */
export async function killedHere(
  server: ModelServer,
  more: number,
  args: readonly string[],
  options: HereOptions,
): Promise<void> {
  const target = server.requests.length + more;
  let isGone = false;
  const host: Host = {
    async openStore(place) {
      const isLost = (name: string) => isGone && WRITES.has(name) && name !== "release";
      const gone = () => Promise.reject(new Error("the process is gone"));
      return storeAround(await processHost.openStore(place), (name, run) => (isLost(name) ? gone() : run()));
    },
  };
  await inTurn(args, { ...options, host }, async (running) => {
    const others = process.listeners("SIGTERM");
    let isOver = false;
    const over = running.finally(() => {
      isOver = true;
    });
    while (server.requests.length < target && !isOver) await setTimeout(5);
    isGone = true;
    // The command's own listener alone, which was added since.
    for (const listener of process.listeners("SIGTERM")) if (!others.includes(listener)) listener("SIGTERM");
    return over;
  });
}

/** Runs a command once the one before has ended. @param until is given the running command when it has begun */
function inTurn(
  args: readonly string[],
  { home = join(folderWith(), "home"), ...options }: HereOptions & { readonly host?: Host },
  until: (running: Promise<Run>) => Promise<Run>,
): Promise<Run> {
  const result = before.then(() => until(commandHere(args, { ...options, home })));
  before = result.catch(() => {});
  return result;
}
