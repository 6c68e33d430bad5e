import { accessSync, constants, statSync } from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";
import { readBoundedFile } from "./bounded-reads.ts";

/** Variables of a process, whatever the case of their names. */
type Variables = Readonly<Record<string, string | undefined>>;

/** Endings of which Windows adds one to the name of a program that has none of them. */
const ENDINGS = [".exe", ".com", ".cmd", ".bat"];

/** The file that a shell would start. A path is relative to the working directory. @returns null if there is none */
export function programFile(program: string, env: Variables = process.env, platform = process.platform): string | null {
  const isWindows = platform === "win32";
  const isPath = /\//.test(program) || (isWindows && /[\\:]/.test(program));
  const path = Object.entries(env).find(([name]) => name.toUpperCase() === "PATH")?.[1] ?? "";
  const folders = isPath ? [""] : path.split(delimiter);
  const isWhole = !isWindows || ENDINGS.some((ending) => program.toLowerCase().endsWith(ending));
  const names = isWhole ? [program] : ENDINGS.map((ending) => program + ending);
  const files = folders.flatMap((folder) => names.map((name) => (isPath ? resolve(name) : join(folder, name))));
  return files.find(canRun) ?? null;
}

function canRun(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

const MOST_BYTES = 64 * 1024;
/** The line of a `.cmd` file of npm, pnpm or Yarn that runs what it stands for, with all its arguments. */
const RUNS = /"%(?:dp0%|~dp0)\\?([^"%]+)"\s+%\*/;
const BY_NODE = /_prog=node"|\bnode(?:\.exe"?)? /;

/**
 * The words that start a program. On Windows npm installs programs as `.cmd` files, which start through a shell alone, and a shell
 * would read the arguments as its own. The script that such a file runs is started in its place.
 *
 * @throws Error for another file of such a kind
 */
export function startable(argv: readonly string[], env: Variables, platform = process.platform): readonly string[] {
  const [program = "", ...words] = argv;
  const file = platform === "win32" ? programFile(program, env, platform) : null;
  if (file === null || !/\.(?:cmd|bat)$/i.test(file)) return argv;
  const read = readBoundedFile(file, { maxBytes: MOST_BYTES, followsLink: true });
  const text = read && "text" in read ? read.text : "";
  const target = RUNS.exec(text)?.[1];
  if (target !== undefined) {
    const path = join(dirname(file), ...target.split(/[\\/]/));
    if (/\.exe$/i.test(path)) return [path, ...words];
    if (BY_NODE.test(text)) return [process.execPath, path, ...words];
  }
  throw new Error(`${file} is a script of cmd, which starts through a shell alone: name the program that it runs`);
}
