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
    await untilAsked(server, target, running, "SIGTERM", () => {
      isGone = true;
    });
    return running;
  });
}

/** Runs a command in this process, and sends it a signal once the server has so many requests more. */
export function signalledHere(
  server: ModelServer,
  more: number,
  signal: "SIGHUP" | "SIGINT",
  args: readonly string[],
  options: HereOptions,
): Promise<Run> {
  return inTurn(args, options, async (running) => {
    await untilAsked(server, server.requests.length + more, running, signal);
    return running;
  });
}

/** Sends a signal to the listeners of the running command once the server has so many requests, if the command has not ended. */
async function untilAsked(
  server: ModelServer,
  requests: number,
  running: Promise<unknown>,
  signal: "SIGHUP" | "SIGINT" | "SIGTERM",
  before: () => void = () => {},
): Promise<void> {
  const others = process.listeners(signal);
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  running.then(over, over);
  while (server.requests.length < requests && !isOver) await setTimeout(5);
  before();
  for (const listener of process.listeners(signal)) if (!others.includes(listener)) listener(signal);
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
