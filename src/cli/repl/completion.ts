import { readdirSync } from "node:fs";
import { basename, dirname } from "node:path";
import { builtins, MACHINE_NAMES } from "../../../builtins/index.ts";
import { DOT_COMMANDS } from "./dot-commands.ts";

/** Completes names of builtins and their members, dot-commands, and paths after .load and .append; as readline asks. */
export function complete(line: string): [completions: string[], completed: string] {
  const path = /^\.(?:load|append)\s+(.*)$/.exec(line)?.[1];
  if (path !== undefined) return [paths(path), path];
  if (line.startsWith("."))
    return [
      matching(
        DOT_COMMANDS.map(({ name }) => `.${name}`),
        line,
      ),
      line,
    ];
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
  const folder = typed.endsWith("/") ? typed : dirname(typed);
  const lead = typed.endsWith("/") ? typed : typed.slice(0, typed.length - basename(typed).length);
  try {
    const names = readdirSync(folder, { withFileTypes: true }).map((entry) =>
      entry.isDirectory() ? `${lead}${entry.name}/` : `${lead}${entry.name}`,
    );
    return matching(names, typed);
  } catch {
    return [];
  }
}

const matching = (names: readonly string[], typed: string) => names.filter((name) => name.startsWith(typed));
