import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { AgentCommand } from "../../../src/platform/agent-commands.ts";

const PROGRAM = fileURLToPath(new URL("coding.sh", import.meta.url));
const OUTPUT = {
  text: "/result",
  cost_usd: "/total_cost_usd",
  input: "/usage/input_tokens",
  output: "/usage/output_tokens",
};

/**
 * Entries of `agents` whose command answers questions about needles.
 *
 * @param entries what differs, by their names
 * @param gate a file for which they wait
 */
export function codingAgents(
  folder: string,
  entries: { readonly [name: string]: Partial<AgentCommand> | { readonly output: undefined } },
  gate: readonly string[] = [],
) {
  const command = ["sh", PROGRAM, logIn(folder), ...gate];
  const entry = { command, output: OUTPUT, timeout_s: 60, at_once: 4 };
  return Object.fromEntries(Object.entries(entries).map(([name, more]) => [name, { ...entry, ...more }]));
}

const logIn = (folder: string) => join(folder, "coding.log");

/** Starts of coding agents, with the folder in which each worked, and the names in it. */
export function startsOf(folder: string) {
  const log = logIn(folder);
  if (!existsSync(log)) return [];
  const lines = readFileSync(log, "utf8").trimEnd().split("\n");
  return lines.map((line) => {
    const [key = "", cwd = "", files = ""] = line.split("\t");
    return { key, cwd, files };
  });
}
