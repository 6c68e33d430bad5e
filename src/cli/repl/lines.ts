import { appendFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { builtins, MACHINE_NAMES } from "../../../builtins/index.ts";
import { readBoundedFile } from "../../platform/bounded-reads.ts";
import { folderProblem, homeFolder } from "../../platform/home.ts";
import { makeFolder } from "../../platform/make-folder.ts";
import type { Control } from "./control.ts";
import { DOT_NAMES } from "./dot-commands.ts";

/** The lines of the input, one at a time. */
export interface Lines {
  /** True if a person types at a terminal: then there are prompts, completion and a history. */
  readonly isInteractive: boolean;
  /** The next line; undefined at the end of the input. */
  next(prompt: string): Promise<string | DroppedLine | undefined>;
  [Symbol.dispose](): void;
}

/** Ctrl-C took back what was typed so far. */
interface DroppedLine {
  readonly dropped: true;
}

/**
 * Reads stdin. Ctrl-C at a prompt drops the cell; twice at an empty one ends; on piped input it
 * ends at once.
 */
export function openLines(control: Control): Lines {
  const isInteractive = process.stdin.isTTY === true && process.stdout.isTTY === true;
  const history = isInteractive ? openHistory(process.env) : undefined;
  const reader = createInterface({
    input: process.stdin,
    terminal: isInteractive,
    historySize: HISTORY_LINES,
    removeHistoryDuplicates: true,
    ...(history && { output: process.stdout, completer: complete, history: history.lines }),
  });
  const waiting: (string | DroppedLine)[] = [];
  let wake: (() => void) | undefined;
  let isOver = false;
  let isFirstLine = true;
  let isWarned = false;

  reader.on("line", (line) => {
    isWarned = false;
    history?.add(line);
    waiting.push(line);
    wake?.();
  });
  reader.on("close", () => {
    isOver = true;
    wake?.();
  });
  reader.on("SIGINT", control.interrupt);
  control.attach({
    stop() {
      waiting.length = 0;
      reader.close();
    },
    interrupted() {
      if (!isInteractive) return control.end(130);
      const isEmpty = reader.line === "" && isFirstLine;
      if (isEmpty && isWarned) return reader.close();
      reader.write(null, { ctrl: true, name: "e" });
      reader.write(null, { ctrl: true, name: "u" });
      isWarned = isEmpty;
      process.stdout.write(isEmpty ? "\n(Ctrl-C again, Ctrl-D or .exit ends the session)\n" : "\n");
      waiting.push({ dropped: true });
      wake?.();
    },
  });

  return {
    isInteractive,
    async next(prompt: string) {
      isFirstLine = prompt === FIRST_PROMPT;
      if (waiting.length === 0 && !isOver) {
        if (isInteractive) {
          reader.setPrompt(prompt);
          reader.prompt(true);
        }
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        wake = undefined;
      }
      const line = waiting.shift();
      if (line === undefined && isInteractive) process.stdout.write("\n");
      return line;
    },
    [Symbol.dispose]: () => reader.close(),
  };
}

export const FIRST_PROMPT = "belay> ";
const HISTORY_LINES = 1000;
/** The largest history file that is read, more than its lines take. */
const HISTORY_BYTES = 16 * 2 ** 20;

/**
 * Lines typed in earlier REPLs, kept in `history` of the store folder, readable by its owner alone.
 * A history that cannot be kept is none, without complaint: `belay doctor` says why.
 */
export function openHistory(env: NodeJS.ProcessEnv) {
  const folder = homeFolder(env);
  const path = join(folder, "history");
  const isKept = folderProblem(folder) === null;
  const lines = isKept ? read(path) : [];
  let last = lines.at(-1);
  return {
    /** Newest first, as readline takes them. */
    lines: lines.toReversed(),
    add(line: string): void {
      if (!isKept || line.trim() === "" || line === last) return;
      last = line;
      try {
        makeFolder(folder);
        appendFileSync(path, `${line}\n`, { mode: 0o600 });
      } catch {}
    },
  };
}

function read(path: string): string[] {
  const file = readBoundedFile(path, { maxBytes: HISTORY_BYTES, followsLink: true });
  const all = (file && "text" in file ? file.text : "").split("\n").filter((line) => line !== "");
  const newest = all.slice(-HISTORY_LINES);
  // It is only ever appended to, so it is cut here.
  try {
    if (all.length > 2 * HISTORY_LINES) writeFileSync(path, `${newest.join("\n")}\n`, { mode: 0o600 });
  } catch {}
  return newest;
}

/**
 * Completes names of builtins and their members, dot-commands, and paths after .load and .append;
 * as readline asks.
 */
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
