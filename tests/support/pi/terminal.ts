import { execFile, spawnSync } from "node:child_process";
import { join } from "node:path";
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
/** A look is a process. */
const LOOK_MS = 150;

export function piTerminal(line: PiLine, { home, extension, columns = 110, rows = 50 }: PiTerminalOptions): PiTerminal {
  // A server of its own: its socket is in the home, and it reads no configuration.
  const socket = ["-S", join(home.project, "../tmux"), "-f", "/dev/null"];
  const tmux = async (...args: readonly string[]) => {
    const { stdout } = await promisify(execFile)("tmux", [...socket, ...args], { env: home.env });
    return stdout;
  };
  const screen = () => tmux("capture-pane", "-p");

  async function until(shown: RegExp | ((screen: string) => boolean)): Promise<string> {
    const holds = typeof shown === "function" ? shown : (text: string) => shown.test(text);
    for (let waited = 0; waited < NEVER_MS; waited += LOOK_MS) {
      const now = await screen();
      if (holds(now)) return now;
      await setTimeout(LOOK_MS);
    }
    throw new Error(`the screen never showed ${shown}:\n${await screen()}`);
  }

  return {
    async start(...args) {
      const loaded = extension === undefined ? [] : ["--no-extensions", "-e", extension];
      const pi = [process.execPath, ...QUICK, line.command, ...BARE, ...loaded, ...args];
      const size = ["-x", String(columns), "-y", String(rows), "-c", home.project];
      await tmux("new-session", "-d", ...size, "--", ...pi);
      // The footer: the editor takes input from then on.
      await until(/\bscripted\b/);
    },
    async type(text) {
      await tmux("send-keys", "-l", text);
      const typed = (shown: string) => shown.split("\n").some((line) => line.trimEnd() === text);
      await until(typed);
      // While it starts Pi refuses a line and keeps it in the editor; what is sent stands one column further right.
      for (let sent = false; !sent; sent = !typed(await screen())) {
        await tmux("send-keys", "Enter");
        await setTimeout(LOOK_MS);
      }
    },
    press: async (key) => void (await tmux("send-keys", key)),
    until,
    painted: () => tmux("capture-pane", "-p", "-e", "-N"),
    async kill() {
      const pid = Number(await tmux("display-message", "-p", "#{pane_pid}"));
      process.kill(pid, "SIGKILL");
      // The server ends with its only pane.
      while (
        await tmux("has-session").then(
          () => true,
          () => false,
        )
      )
        await setTimeout(LOOK_MS);
    },
    [Symbol.asyncDispose]: async () => void (await tmux("kill-server").catch(() => {})),
  };
}

const BARE = ["--no-skills", "--no-prompt-templates", "--no-themes", "--no-context-files"];
