import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FREQUENT, RARE, writeLog } from "../../bench/logs.ts";

/** A context that is large by its bytes or by its files, and what is appended to it. */
export interface LargeInput {
  readonly name: string;
  /** Absolute path of what is loaded first. */
  readonly context: string;
  /** Absolute path of what is appended. */
  readonly appended: string;
  /** Arguments of node that make it the command; absent: those of `COMMAND`. */
  readonly command?: readonly string[];
}

const MB = 2 ** 20;
/** Flags that allow the contexts of all inputs. */
const ROOM = ["--max-context-mb", "2000", "--max-files", "100000"];

/** Writes a log of so many MB, and one of a fifth of that. */
export function logInput(folder: string, mb: number, seed: number): LargeInput {
  const context = join(folder, `${mb}.log`);
  const appended = join(folder, `${mb}-more.log`);
  writeLog(context, { bytes: mb * MB, seed });
  writeLog(appended, { bytes: (mb * MB) / 5, seed: seed + 1 });
  return { name: `log of ${mb} MB`, context, appended };
}

/** Writes so many files of a line, and a tenth of that. @param command for which so many files make a large context */
export function filesInput(folder: string, count: number, command?: readonly string[]): LargeInput {
  const context = join(folder, `${count}-files`);
  const appended = join(folder, `${count}-more`);
  writeFiles(context, count);
  writeFiles(appended, Math.ceil(count / 10));
  return { name: `${count} files`, context, appended, ...(command ? { command } : {}) };
}

function writeFiles(folder: string, count: number): void {
  mkdirSync(folder);
  for (let n = 0; n < count; n++) {
    const word = n % 1000 === 7 ? RARE.word : "größe";
    writeFileSync(join(folder, `${n}.txt`), `line of ${n}: ${FREQUENT}, ${word}\n`);
  }
}

/** A line that a user types: it is typed again until it comes to its end. */
export interface LargeLine {
  readonly name: string;
  /** Arguments of the command, without the session. */
  readonly args: readonly string[];
}

/** The lines that load a context, append to it, index it and look into it. */
export function linesOf({ context, appended }: LargeInput): readonly LargeLine[] {
  const facts = `const { context_hash, chars, lines, docs } = stats();
    result = [context_hash, chars, lines, docs, P.length, P.slice(P.length - 40), count("${FREQUENT}")];`;
  const looks = `[find("${RARE.word}", "", { docs: true }).matches, count("took=\\d+7ms"), peek_doc(doc_at(P.length >> 1).id, 0, 99)]`;
  return [
    { name: "load", args: [...ROOM, "-c", context, "-e", facts] },
    { name: "append", args: [...ROOM, "--append", "-c", appended, "-e", facts] },
    { name: "search", args: ["-e", 'search("connection reset peer", 5)'] },
    { name: "find", args: ["-e", looks] },
  ];
}
