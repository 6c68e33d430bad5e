import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { run } from "../../../src/cli/run.ts";
import { type Run, type RunOptions, temporaryFolder } from "./belay.ts";

/** A command takes the streams, the folder and the variables of this process, so it waits for the one before. */
let before: Promise<unknown> = Promise.resolve();

/**
 * Runs a command in this process, which costs less than half of what a process of its own costs. It is for tests in which
 * no process ends early or stands at a terminal.
 */
export function belayHere(args: readonly string[], options: HereOptions = {}): Promise<Run> {
  const { home = join(temporaryFolder(), "home") } = options;
  const result = before.then(() => runHere(args, { ...options, home }));
  before = result.catch(() => {});
  return result;
}

type HereOptions = Omit<RunOptions, "onOutput">;

async function runHere(args: readonly string[], { cwd, home, env, input = "" }: HereOptions): Promise<Run> {
  const [folder, variables] = [process.cwd(), { ...process.env }];
  const written = { stdout: "", stderr: "" };
  const undo = [taking("stdout", written), taking("stderr", written), giving(input)];
  Object.assign(process.env, { BELAY_HOME: home, ...env });
  if (cwd !== undefined) process.chdir(cwd);
  try {
    return { code: await run(args), ...written };
  } finally {
    process.chdir(folder);
    process.env = variables;
    for (const giveBack of undo) giveBack();
  }
}

/** Collects what is written to one of the process's streams. Gives what gives the stream back. */
function taking(name: "stdout" | "stderr", written: Record<typeof name, string>): () => void {
  const value = new Writable({
    decodeStrings: false,
    write(chunk, _encoding, done) {
      written[name] += String(chunk);
      done();
    },
  });
  return replacing(name, value);
}

/** Makes this all of stdin. Gives what gives stdin back. */
function giving(input: string | Uint8Array): () => void {
  return replacing("stdin", Readable.from([Buffer.from(input)], { objectMode: false }));
}

function replacing(name: "stdin" | "stdout" | "stderr", value: Readable | Writable): () => void {
  const own = Object.getOwnPropertyDescriptor(process, name);
  Object.defineProperty(process, name, { configurable: true, value });
  return () => own && Object.defineProperty(process, name, own);
}
