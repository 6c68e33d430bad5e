import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { QUICK } from "../command.ts";
import type { PiHome } from "./home.ts";
import type { PiLine } from "./process.ts";

/** Pi as a person sees it, in a terminal of tmux. */
export interface PiTerminal extends AsyncDisposable {
  /** Starts Pi; the one before must have ended. */
  start(...args: readonly string[]): Promise<void>;
  /** Types a line and sends it. */
  type(line: string): Promise<void>;
  /** Presses a key by tmux's name of it: `C-o`, `Down`. */
  press(key: string): Promise<void>;
  /** The screen once it has this on it. */
  until(shown: RegExp | ((screen: string) => boolean)): Promise<string>;
  /** The screen with its colours, as escape sequences. */
  painted(): Promise<string>;
  /** Ends Pi without a word to it. */
  kill(): Promise<void>;
}

export const HAS_TMUX = spawnSync("tmux", ["-V"]).status === 0;

export interface PiTerminalOptions {
  readonly home: PiHome;
  /** Path of the extension to load; without it Pi loads those that are installed. */
  readonly extension?: string;
  readonly columns?: number;
  readonly rows?: number;
}

/** Longer than any step takes on a busy machine. */
const NEVER_MS = 45_000;
const LOOK_MS = 50;

export function piTerminal(line: PiLine, { home, extension, columns = 110, rows = 50 }: PiTerminalOptions): PiTerminal {
  // A server of its own: its socket is in the home, and it reads no configuration.
  const socket = ["-S", join(home.project, "../tmux"), "-f", "/dev/null"];
  const tmux = (...args: readonly string[]) => promisify(execFile)("tmux", [...socket, ...args], { env: home.env });
  let client: TmuxClient | undefined;
  const told = (command: string) => client?.told(command) ?? Promise.reject(new Error("Pi has not begun"));
  const screen = () => told("capture-pane -p");

  async function until(shown: RegExp | ((screen: string) => boolean)): Promise<string> {
    const holds = typeof shown === "function" ? shown : (text: string) => shown.test(text);
    for (const end = performance.now() + NEVER_MS; performance.now() < end; await setTimeout(LOOK_MS)) {
      const now = await screen();
      if (holds(now)) return now;
    }
    throw new Error(`the screen never showed ${shown}:\n${await screen()}`);
  }

  return {
    async start(...args) {
      const loaded = extension === undefined ? [] : ["--no-extensions", "-e", extension];
      const pi = [process.execPath, ...QUICK, line.command, ...BARE, ...loaded, ...args];
      const size = ["-x", String(columns), "-y", String(rows), "-c", home.project];
      await tmux("new-session", "-d", ...size, "--", ...pi);
      client = tmuxClient(socket, home.env);
      // The footer: the editor takes input from then on.
      await until(/\bscripted\b/);
    },
    async type(text) {
      await told(`send-keys -l ${quoted(text)}`);
      const typed = (shown: string) => shown.split("\n").some((line) => line.trimEnd() === text);
      await until(typed);
      // While it starts Pi refuses a line and keeps it in the editor; what is sent stands one column further right.
      for (let sent = false; !sent; sent = !typed(await screen())) {
        await told("send-keys Enter");
        await setTimeout(3 * LOOK_MS);
      }
    },
    press: async (key) => void (await told(`send-keys ${quoted(key)}`)),
    until,
    painted: () => told("capture-pane -p -e -N"),
    async kill() {
      process.kill(Number(await told("display-message -p '#{pane_pid}'")), "SIGKILL");
      // The server ends with its only pane.
      await client?.gone;
    },
    [Symbol.asyncDispose]: async () => void (await tmux("kill-server").catch(() => {})),
  };
}

/** A client that stays: a process for each look would cost more than Pi does. */
interface TmuxClient {
  /** What a command of tmux prints. */
  told(command: string): Promise<string>;
  readonly gone: Promise<unknown>;
}

function tmuxClient(socket: readonly string[], env: NodeJS.ProcessEnv): TmuxClient {
  const args = [...socket, "-C", "attach-session", "-f", "ignore-size,no-output"];
  const child = spawn("tmux", args, { env, stdio: ["pipe", "pipe", "ignore"] });
  const asked: PromiseWithResolvers<string>[] = [];
  const gone = once(child, "close").finally(() => {
    for (const { reject } of asked) reject(new Error("the terminal is gone"));
  });
  child.stdin.on("error", () => {});
  // Each answer stands between two lines of its own; their last word is 0 for what nobody here has asked.
  let lines: string[] | undefined;
  createInterface({ input: child.stdout }).on("line", (line) => {
    const [, mark] = /^%(begin|end|error) \d+ \d+ 1$/.exec(line) ?? [];
    if (mark === "begin") lines = [];
    else if (mark === undefined) lines?.push(line);
    else {
      asked.shift()?.resolve((lines ?? []).join("\n"));
      lines = undefined;
    }
  });
  return {
    gone,
    told(command) {
      const answer = Promise.withResolvers<string>();
      asked.push(answer);
      child.stdin.write(`${command}\n`);
      return answer.promise;
    },
  };
}

/** A word of tmux's own language. */
const quoted = (word: string) => `'${word.replaceAll("'", "'\\''")}'`;

const BARE = ["--no-skills", "--no-prompt-templates", "--no-themes", "--no-context-files"];
