import { readdirSync } from "node:fs";
import { builtins, MACHINE_NAMES } from "../../../builtins/index.ts";
import { DOT_NAMES } from "./dot-commands.ts";

/** Completes names of builtins and their members, dot-commands, and paths after .load and .append; as readline asks. */
export function complete(line: string): [completions: string[], completed: string] {
  const path = /^\.(?:load|append)\s+(.*)$/.exec(line)?.[1];
  if (path !== undefined) return [paths(path), path];
  if (line.startsWith(".")) return [matching(DOT_NAMES, line), line];
  const word = /(?:^|[^\w$.])([\w$.]+)$/.exec(line)?.[1] ?? "";
  return [word === "" ? [] : matching(guestNames(), word), word];
}

function guestNames(): string[] {
  const listed = builtins.flatMap(({ name, signature }) => [name, ...signature.split("\n").map(memberName)]);
  return [...new Set([...Object.keys(MACHINE_NAMES), ...listed])];
}

/** `memory.put` of `memory.put(key: string, …): void`. */
function memberName(signature: string): string {
  return /^(?:(?:async )?function |const )?([\w.]+)/.exec(signature)?.[1] ?? signature;
}

function paths(typed: string): string[] {
  const folder = typed.slice(0, typed.lastIndexOf("/") + 1);
  try {
    const entries = readdirSync(folder || ".", { withFileTypes: true });
    const names = entries.map((entry) => `${folder}${entry.name}${entry.isDirectory() ? "/" : ""}`);
    return matching(names, typed);
  } catch {
    return [];
  }
}

const matching = (names: readonly string[], typed: string) => names.filter((name) => name.startsWith(typed));
