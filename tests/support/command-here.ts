import { Readable, Writable } from "node:stream";
import { type Host, processHost } from "../../src/cli/commands/define.ts";
import { run } from "../../src/cli/run.ts";

/** How a command ended, and what it printed. */
export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Surroundings {
  readonly cwd?: string | undefined;
  /** Store folder. */
  readonly home: string;
  /** Variables beside those of this process. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** All of stdin. */
  readonly input?: string | Uint8Array | undefined;
  /** Called with all that was printed so far, whenever more was. */
  readonly onWritten?: ((text: string) => void) | undefined;
  /** Opens the command's store. Default: as the command itself does. */
  readonly host?: Host | undefined;
  /** Time that stdout and stderr need for each text that is written; absent: they take it at once. */
  readonly takenMs?: number;
}

/** Runs a command in this process. It takes the streams, the folder and the variables of the process until it ends. */
export async function commandHere(
  args: readonly string[],
  { cwd, home, env, input = "", onWritten = () => {}, host = processHost, takenMs }: Surroundings,
): Promise<Ran> {
  const [folder, variables] = [process.cwd(), { ...process.env }];
  const written = { stdout: "", stderr: "" };
  const tell = () => onWritten(written.stdout + written.stderr);
  const undo = [taking("stdout", written, tell, takenMs), taking("stderr", written, tell, takenMs), giving(input)];
  Object.assign(process.env, { BELAY_HOME: home, ...env });
  if (cwd !== undefined) process.chdir(cwd);
  try {
    return { code: await run(args, host), ...written };
  } finally {
    process.chdir(folder);
    // A plain object in its place would be unknown to what reads the process's own, such as tmpdir().
    for (const name of Object.keys(process.env)) if (!Object.hasOwn(variables, name)) delete process.env[name];
    Object.assign(process.env, variables);
    for (const giveBack of undo) giveBack();
  }
}

/** Collects what is written to one of the process's streams. Gives what gives the stream back. */
function taking(
  name: "stdout" | "stderr",
  written: Record<typeof name, string>,
  tell: () => void,
  takenMs: number | undefined,
): () => void {
  const value = new Writable({
    decodeStrings: false,
    write(chunk, _encoding, done) {
      written[name] += String(chunk);
      if (takenMs === undefined) done();
      else setTimeout(done, takenMs);
      tell();
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
