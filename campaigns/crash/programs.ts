import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../scripts/process.ts";

const FOLDER = join(ROOT, "campaigns/crash/programs");

/** A guest program as the command runs it, in the folder of `writeContexts`. */
export interface CrashProgram {
  readonly name: string;
  /** `exec` or `query` with its operands and the flags that the program asks for. */
  readonly args: readonly string[];
  /** Cells, or the one query: each prints one line of JSON. */
  readonly parts: number;
  /** The error code that it ends with; null where it succeeds. */
  readonly fails: string | null;
}

/**
 * The programs of campaigns/crash/programs, by name: a `.js` file is a cell, a folder the cells of one session, and
 * `.query.txt` a question. Lines `// flags: …` and `// fails: …` give flags of the command and the code of its failure.
 */
export function crashPrograms(): CrashProgram[] {
  return readdirSync(FOLDER, { withFileTypes: true })
    .map((entry) => {
      const path = join(FOLDER, entry.name);
      if (entry.name.endsWith(QUERY)) {
        const args = ["query", readFileSync(path, "utf8").trim(), "-c", "latin1"];
        return { name: entry.name.slice(0, -QUERY.length), args, parts: 1, fails: null };
      }
      const files = entry.isDirectory() ? filesOf(path) : [path];
      const source = readFileSync(files[0] ?? path, "utf8");
      const line = (word: string) => source.match(new RegExp(`^// ${word}: (.+)$`, "m"))?.[1] ?? null;
      const name = entry.name.replace(/\.js$/, "");
      const args = ["exec", ...files, ...(line("flags")?.split(" ") ?? [])];
      return { name, args, parts: files.length, fails: line("fails") };
    })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

const QUERY = ".query.txt";

function filesOf(folder: string): string[] {
  return readdirSync(folder)
    .toSorted()
    .map((file) => join(folder, file));
}

/** Makes what the programs load: `latin1` (about 300 KB in two files) and `utf16` (about 100 KB beyond Latin-1). */
export function writeContexts(folder: string): void {
  const lines = (count: number, line: (index: number) => string) => Array.from({ length: count }, (_, at) => line(at));
  const write = (name: string, file: string, content: readonly string[]) => {
    mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, name, file), `${content.join("\n")}\n`);
  };
  write(
    "latin1",
    "a.txt",
    lines(6000, (at) => `entry ${at} says word${at % 7}, naïve and plain: ${(at * 7919) % 10_007}`),
  );
  write(
    "latin1",
    "b.txt",
    lines(40, (at) => `another file, line ${at}`),
  );
  write(
    "utf16",
    "c.txt",
    lines(3000, (at) => `€${at} 😀 ελληνικά ${(at * 7919) % 1009}`),
  );
}
