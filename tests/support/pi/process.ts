import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../../scripts/process.ts";
import { QUICK } from "../command.ts";
import type { PiHome } from "./home.ts";

/** A release line of Pi: the last under its old name, and a later one under its new name. */
export interface PiLine {
  readonly version: string;
  readonly command: string;
}

/** With this variable, `VERSION=CLI.js`, every scene is played in that Pi alone: `npm run verify -- pi` does so. */
const [given, command] = process.env.BELAY_PI_LINE?.split("=") ?? [];

const TESTED: readonly PiLine[] = [
  { version: "0.73.1", command: join(ROOT, "node_modules/@mariozechner/pi-coding-agent/dist/cli.js") },
  { version: "0.87.1", command: join(ROOT, "node_modules/pi-coding-agent-next/dist/bundle/cli.js") },
];

export const PI_LINES: readonly PiLine[] =
  given !== undefined && command !== undefined ? [{ version: given, command }] : TESTED;

/** With this variable every scene is played in all lines: `npm run verify -- pi-lines`. */
export const PLAYS_ALL = process.env.BELAY_ALL_PI_LINES === "1" || PI_LINES !== TESTED;

/**
 * For most scenes, each of which is played in one of the lines. In every line a session is killed and recovered (pi-crash).
 */
export const NEWEST_PI = PLAYS_ALL ? PI_LINES : PI_LINES.slice(-1);
export const OLDEST_PI = PLAYS_ALL ? PI_LINES : PI_LINES.slice(0, 1);

/** One line of Pi's output in rpc mode. */
export interface PiEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** An entry of a session file. */
export interface PiEntry {
  readonly type: string;
  readonly id: string;
  readonly parentId: string | null;
  readonly customType?: string;
  readonly data?: { readonly [field: string]: unknown };
  readonly message?: {
    readonly role: string;
    readonly toolCallId?: string;
    readonly isError?: boolean;
    readonly content?: unknown;
  };
}

/** A Pi process in rpc mode. */
export interface Pi extends AsyncDisposable {
  readonly pid: number;
  /** Everything that it has written so far. */
  readonly events: readonly PiEvent[];
  /** Sends a command without waiting for its answer. */
  send(command: { readonly type: string; readonly [field: string]: unknown }): void;
  /** Sends a command and answers the data of its response. Rejects where Pi refused it. */
  ask(type: string, fields?: object): Promise<Readonly<Record<string, unknown>>>;
  /** Sends a prompt and waits until the agent has ended its work. */
  prompt(message: string): Promise<void>;
  /** The first event, from the `from`-th on, that satisfies this. Rejects where the process ends before. */
  until(holds: (event: PiEvent) => boolean, from?: number): Promise<PiEvent>;
  /** Ends the process without a word to it. */
  kill(): Promise<void>;
  /** The end of the process, whoever brings it about: its exit code, or the signal. */
  readonly ended: Promise<number | string>;
  /** What went to stderr. */
  stderr(): string;
  /** Path of the session file. */
  sessionFile(): Promise<string>;
}

export interface PiOptions {
  readonly home: PiHome;
  /** Paths of the extensions to load; none: those that are installed. */
  readonly extensions: readonly string[];
  /** Session file to go on with. */
  readonly session?: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** Longer than any step takes on a busy machine: a first start took more than 45 s there. */
const HANGS_MS = 120_000;

/** Starts Pi in rpc mode. */
export function startPi(line: PiLine, { session, ...options }: PiOptions): Pi {
  const going = session === undefined ? [] : ["--session", session];
  const child = spawn(
    process.execPath,
    [...QUICK, line.command, "--mode", "rpc", ...going, ...flags(options.extensions)],
    { cwd: options.home.project, env: { ...options.home.env, ...options.env } },
  );
  return piOver(child);
}

/** Runs one prompt in print mode to its end. @param more further arguments */
export function printPi(
  line: PiLine,
  prompt: string,
  { session, ...options }: PiOptions,
  more: readonly string[] = [],
): Promise<PiPrinted> {
  const going = session === undefined ? more : ["--session", session, ...more];
  const child = spawn(
    process.execPath,
    [...QUICK, line.command, "-p", prompt, ...going, ...flags(options.extensions)],
    { cwd: options.home.project, env: { ...options.home.env, ...options.env }, stdio: ["ignore", "pipe", "pipe"] },
  );
  const text = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream].setEncoding("utf8").on("data", (chunk: string) => {
      text[stream] += chunk;
    });
  }
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => child.kill("SIGKILL"), HANGS_MS);
    child.on("error", reject);
    child.on("close", (code) => {
      clearTimeout(timer);
      resolve({ code, ...text });
    });
  });
}

export interface PiPrinted {
  /** null where it was killed because it did not end. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The entries of a session file, its header left out; half a line at its end is no entry. */
export function entriesIn(file: string): readonly PiEntry[] {
  const lines = readFileSync(file, "utf8").split("\n").slice(1);
  return lines.flatMap((line): PiEntry[] => {
    try {
      return [JSON.parse(line)];
    } catch {
      return [];
    }
  });
}

function flags(extensions: readonly string[]): string[] {
  const bare = ["--no-skills", "--no-prompt-templates", "--no-themes", "--no-context-files"];
  if (extensions.length === 0) return bare;
  return [...bare, "--no-extensions", ...extensions.flatMap((path) => ["-e", path])];
}

function piOver(child: ChildProcessWithoutNullStreams): Pi {
  const events: PiEvent[] = [];
  const watchers = new Set<() => void>();
  const look = () => {
    for (const watch of watchers) watch();
  };
  let errors = "";
  let rest = "";
  let asked = 0;
  let end: number | string | undefined;
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    events.push(...lines.flatMap(eventOf));
    look();
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    errors += chunk;
  });
  // A killed process no longer reads.
  child.stdin.on("error", () => {});
  const ended = new Promise<number | string>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => {
      end = code ?? signal ?? "nothing";
      look();
      resolve(end);
    });
  });

  const send: Pi["send"] = (command) => void child.stdin.write(`${JSON.stringify(command)}\n`);
  const until: Pi["until"] = (holds, from = 0) =>
    new Promise((resolve, reject) => {
      const fail = (why: string) => {
        const last = events.slice(-5).map((event) => JSON.stringify(event).slice(0, 300));
        done(() => reject(new Error([`${why} before: ${holds}`, ...last, errors].join("\n"))));
      };
      const timer = setTimeout(() => fail(`Pi was silent for ${HANGS_MS} ms`), HANGS_MS);
      const done = (settle: () => void) => {
        clearTimeout(timer);
        watchers.delete(watch);
        settle();
      };
      const watch = () => {
        const found = events.find((event, n) => n >= from && holds(event));
        if (found) done(() => resolve(found));
        else if (end !== undefined) fail(`Pi ended with ${end}`);
      };
      watchers.add(watch);
      watch();
    });
  async function ask(type: string, fields: object = {}): Promise<Readonly<Record<string, unknown>>> {
    const id = `ask-${++asked}`;
    send({ ...fields, type, id });
    const response: PiEvent & { readonly data?: Record<string, unknown> } = await until((event) => event.id === id);
    if (response.success !== true) throw new Error(`${type} was refused: ${String(response.error)}`);
    return response.data ?? {};
  }
  async function prompt(message: string): Promise<void> {
    const from = events.length;
    await ask("prompt", { message });
    // A command of an extension is over when it is answered.
    if (message.startsWith("/")) return;
    await until(({ type }) => type === "agent_end", from);
    while ((await ask("get_state")).isStreaming !== false);
  }
  async function kill(): Promise<void> {
    child.kill("SIGKILL");
    await ended;
  }
  return {
    ...{ pid: child.pid ?? 0, events, send, ask, prompt, until, kill, ended },
    stderr: () => errors,
    sessionFile: async () => String((await ask("get_state")).sessionFile),
    [Symbol.asyncDispose]: kill,
  };
}

/** Something else than JSON would be a print into the protocol: it shows as an event of its own. */
function eventOf(line: string): PiEvent[] {
  if (line.trim() === "") return [];
  try {
    return [JSON.parse(line)];
  } catch {
    return [{ type: "not_json", line }];
  }
}
