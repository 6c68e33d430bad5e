import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { AgentCommand } from "../../../src/platform/agent-commands.ts";
import type { Script } from "./command.ts";

export type { Script } from "./command.ts";

const COMMAND = fileURLToPath(new URL("command.ts", import.meta.url));

/** The prompt that has a scripted command do this. */
export const doing = (script: Script) => JSON.stringify(script);

/**
 * An entry of `agents` whose command does what its prompt says. It logs its starts and ends to the
 * file of the variable BELAY_AGENT_LOG, which must be set.
 */
export function scriptedAgent(
  form: "json" | "lines" | "text" = "json",
  more: Partial<AgentCommand> = {},
): AgentCommand {
  const command = [process.execPath, "--no-warnings", COMMAND, "--form", form];
  const tokens = { input: "/usage/input_tokens", output: "/usage/output_tokens" };
  const json = {
    text: "/result",
    value: "/structured_output",
    failed: "/is_error",
    cost_usd: "/total_cost_usd",
    ...tokens,
  };
  const outputs = {
    json: { output: json },
    lines: { output: { lines: true, text: "/item/text", ...tokens } },
    text: {},
  };
  return { command, env: ["BELAY_AGENT_LOG", "NODE_COMPILE_CACHE"], ...outputs[form], ...more };
}

/** One line of the log of scripted agents. */
export interface Logged {
  readonly what: string;
  readonly key: string;
  readonly pid: number;
}

export function loggedIn(log: string): Logged[] {
  if (!existsSync(log)) return [];
  const lines = readFileSync(log, "utf8").split("\n").filter(Boolean);
  return lines.map((line) => {
    const [what = "", key = "", pid = ""] = line.split(" ");
    return { what, key, pid: Number(pid) };
  });
}

/** The number of starts of each agent, by its key. */
export function startsIn(log: string): Map<string, number> {
  const starts = new Map<string, number>();
  for (const { what, key } of loggedIn(log)) if (what === "BEGUN") starts.set(key, (starts.get(key) ?? 0) + 1);
  return starts;
}

/** The processes of keepers that have an outbox below a folder open. */
export function keepersOf(folder: string): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter(Boolean)
    .filter((pid) => orFalse(() => linksOf(pid).some((path) => path.startsWith(folder) && path.endsWith("/lock"))))
    .filter((pid) => orFalse(() => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("keeper-entry")));
}

/** The processes that the mark of any start of a call is on. */
export function agentsOf(key: string): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter(Boolean)
    .filter((pid) => orFalse(() => readFileSync(`/proc/${pid}/environ`, "utf8").includes(`BELAY_AGENT=${key}/`)));
}

function linksOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).flatMap((name) => {
    try {
      return [readlinkSync(join(folder, name))];
    } catch {
      return [];
    }
  });
}

function orFalse(look: () => boolean): boolean {
  try {
    return look();
  } catch {
    return false;
  }
}
