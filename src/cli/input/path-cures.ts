import { globSync } from "node:fs";
import { basename } from "node:path";
import { HEAD_BYTES, kindOf, packedBy, tooLarge } from "../../context/index.ts";
import { LIMITS, RlmError } from "../../index.ts";
import { firstBytes } from "../../platform/bounded-file.ts";
import { savedAs } from "../../platform/shell-word.ts";
import { statsOf } from "../../platform/stats.ts";
import type { SessionFlags } from "../flags/session-flags.ts";
import { commandLine, quoted } from "../flags/usage.ts";

type Typed = Pick<SessionFlags, "command" | "contexts" | "typed">;

/**
 * Gives the line to type instead of a context that no load can read. It knows an address, a pattern that the shell did not
 * expand, a file that is compressed by bzip2 or xz, and a text over the limit.
 *
 * @throws RlmError `path_not_found`, `invalid_argument`, `context_too_large`
 */
export function checkContexts(flags: Typed): void {
  for (const path of flags.contexts) if (path !== "-") checkContext(path, flags);
}

function checkContext(path: string, flags: Typed): void {
  const stats = statsOf(path);
  if (!stats) {
    const saved = savedAs(path);
    if (saved) throw address(path, `Type: ${saved.line} && ${lineWith(path, [saved.name], flags)}`);
    if (/[*?[\]{}]/.test(path)) throw pattern(path, flags);
    return;
  }
  if (!stats.isFile()) return;
  const start = firstBytes(path, HEAD_BYTES);
  const program = packedBy(start);
  if (program !== null) {
    const suggestion = `Type: ${unpacked(path, program, flags)}`;
    throw new RlmError("invalid_argument", `${path} is compressed (${program})`, { suggestion });
  }
  // The text of a document counts, and its size is not known yet.
  if (stats.size <= LIMITS.contextBytes || kindOf(start, path) !== null) return;
  const { message } = tooLarge(path, { files: 1, bytes: stats.size });
  const suggestion = `Its last 100 MB: ${piped(`tail -c ${LIMITS.contextBytes} ${quoted(path)}`, path, flags)}`;
  throw new RlmError("context_too_large", message, { suggestion });
}

export function address(url: string, suggestion: string): RlmError {
  return new RlmError("path_not_found", `${url} is an address; Belay reads files and folders`, { suggestion });
}

const LISTED_MATCHES = 20;

function pattern(path: string, flags: Typed): RlmError {
  const found = matchesOf(path);
  const some = found.slice(0, LISTED_MATCHES);
  const message = `${path} does not exist; patterns are not expanded after -c`;
  if (some.length === 0) {
    return new RlmError("path_not_found", message, { suggestion: "Check its spelling, or name a folder." });
  }
  const left = found.length > some.length ? ` (and ${found.length - some.length} more: -c takes a folder too)` : "";
  const suggestion = `Type: ${lineWith(path, some, flags)}${left}`;
  return new RlmError("path_not_found", message, { suggestion });
}

/** A whole tree is not searched for them: it may be the disk. */
function matchesOf(path: string): string[] {
  return path.includes("**") ? [] : globSync(path).sort();
}

function unpacked(path: string, tool: string, flags: Typed): string {
  const folder = /^(.*)\.(tar\.\w+|tbz2?|txz)$/i.exec(basename(path))?.[1];
  if (folder === undefined) return piped(`${tool} -dc ${quoted(path)}`, path, flags);
  const line = `mkdir ${quoted(folder)} && tar -xf ${quoted(path)} -C ${quoted(folder)}`;
  return `${line} && ${lineWith(path, [folder], flags)}`;
}

/** The command with stdin as the context; a file of its own if stdin is in use. */
function piped(source: string, path: string, flags: Typed): string {
  if (!flags.typed.includes("-")) return `${source} | ${lineWith(path, ["-"], flags)}`;
  const file = `${basename(path)}.txt`;
  return `${source} > ${quoted(file)} && ${lineWith(path, [file], flags)}`;
}

/** The typed line, with other contexts in place of this one. */
function lineWith(path: string, others: readonly string[], { command, typed }: Typed): string {
  const at = typed.findIndex((word, index) => word === path && /^(-c|--context)$/.test(typed[index - 1] ?? ""));
  const contexts = others.flatMap((other) => ["-c", other]);
  if (at < 0) return commandLine([command, ...contexts]);
  return commandLine([command, ...typed.slice(0, at - 1), ...contexts, ...typed.slice(at + 1)]);
}
