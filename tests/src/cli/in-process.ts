import { join } from "node:path";
import { Writable } from "node:stream";
import { run } from "../../../src/cli/run.ts";
import { type Run, type RunOptions, temporaryFolder } from "./belay.ts";

/**
 * Runs a command in this process, which costs a small part of what a process of its own costs. It is for tests in which
 * no process ends early, reads stdin or stands at a terminal. One command runs at a time: each takes the streams, the
 * folder and the variables of this process.
 */
export async function belayHere(
  args: readonly string[],
  options: Omit<RunOptions, "input" | "onOutput"> = {},
): Promise<Run> {
  const { cwd, home = join(temporaryFolder(), "home"), env } = options;
  const [folder, variables] = [process.cwd(), { ...process.env }];
  const written = { stdout: "", stderr: "" };
  const undo = [taking("stdout", written), taking("stderr", written)];
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
  const own = Object.getOwnPropertyDescriptor(process, name);
  const value = new Writable({
    decodeStrings: false,
    write(chunk, _encoding, done) {
      written[name] += String(chunk);
      done();
    },
  });
  Object.defineProperty(process, name, { configurable: true, value });
  return () => own && Object.defineProperty(process, name, own);
}
