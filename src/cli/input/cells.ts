import { readFileSync } from "node:fs";
import { extname } from "node:path";
import { Script } from "node:vm";
import { LIMITS, RlmError } from "../../index.ts";
import { openFile } from "../../platform/bounded-reads.ts";
import { errorCode } from "../../platform/errors.ts";
import { statsOf } from "../../platform/paths.ts";
import type { Argument } from "../flags/arguments.ts";
import { commandLine, quoted, UsageError } from "../flags/usage.ts";
import { readStream } from "./sources.ts";

/** A cell to run: its source, and what it is called in messages. */
export interface Cell {
  readonly name: string;
  readonly source: string;
}

const CODE = "-e";
const STDIN = "stdin";

/** The file that a cell is from, for tracebacks; none for code that was typed. */
export function fileOf({ name }: Cell): { name?: string } {
  return name === CODE || name === STDIN ? {} : { name };
}

/**
 * The cells named by FILE, `-` and `-e`, in the order of the command line.
 * @param command whose help explains them
 * @throws UsageError, RlmError
 */
export async function readCells(args: readonly Argument[], signal: AbortSignal, command = "exec"): Promise<Cell[]> {
  const named = args.filter(({ option }) => option === null || option === "eval");
  if (named.length === 0) throw noCell(args);
  const reads = args.filter(({ option, value }) => value === "-" && option !== "eval").length;
  if (reads > 1) {
    throw new UsageError("`-` is given twice, but stdin can be read only once", commandLine(["help", command]));
  }
  checkScripts(args);
  const cells: Cell[] = [];
  for (const { option, value } of named) {
    if (option === "eval") cells.push({ name: CODE, source: value });
    else if (value !== "-")
      cells.push({ name: value, source: decoded(value, await readCell(value, args, signal, command)) });
    else cells.push({ name: STDIN, source: decoded(STDIN, await readStdinCell(signal)) });
  }
  return cells;
}

async function readStdinCell(signal: AbortSignal): Promise<Buffer> {
  if (process.stdin.isTTY) process.stderr.write("type the cell, then Ctrl-D on a line of its own\n");
  const source = await readStream(process.stdin, LIMITS.sourceBytes, signal);
  if (source) return source;
  throw tooLarge("the cell on stdin", "A context comes from stdin with `-c -`");
}

function tooLarge(name: string, cure: string): RlmError {
  return new RlmError("source_too_large", `${name} has more than ${LIMITS.sourceBytes} bytes`, {
    suggestion: `${cure}; a cell reads it with peek, find and search.`,
  });
}

function noCell(args: readonly Argument[]): UsageError {
  const contexts = contextsOf(args);
  const line = commandLine(["exec", "-e", "stats()", ...(contexts.length > 0 ? contexts : ["-c", "."])]);
  return new UsageError("no cell given: name a FILE, pass -e CODE, or - to read it from stdin", line);
}

const contextsOf = (args: readonly Argument[]) =>
  args.filter(({ option }) => option === "context").flatMap(({ value }) => ["-c", value]);

async function readCell(
  path: string,
  args: readonly Argument[],
  signal: AbortSignal,
  command: string,
): Promise<Buffer> {
  try {
    const source = await readStream(openFile(path), LIMITS.sourceBytes, signal);
    if (source) return source;
  } catch (error) {
    if (error instanceof RlmError) throw error;
    const code = errorCode(error);
    if (code === "EISDIR") {
      const problem = `${path} is a folder, and a cell is a file; to load it as the context use -c`;
      throw new UsageError(problem, commandLine(["exec", "-e", "stats()", "-c", path]));
    }
    if (code === "ENOENT" && /[\s();=]/.test(path)) {
      const line = commandLine(["exec", "-e", path, ...contextsOf(args)]);
      throw new UsageError(`no such file: ${path}; code is passed with -e`, line);
    }
    if (signal.aborted) throw error;
    const problem = code === "ENOENT" ? "no such file" : `cannot be read (${code})`;
    throw new UsageError(`${path}: ${problem}`, commandLine(["help", command]));
  }
  throw tooLarge(path, `As a context it is loaded with \`-c ${quoted(path)}\``);
}

function decoded(name: string, bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new UsageError(`${name} is not UTF-8 text`, `iconv -f ENCODING -t UTF-8 ${quoted(name)}`);
  }
}

/**
 * Refuses FILEs next to -c that are not scripts: a shell makes `-c a.log b.log` of `-c *.log`, and
 * the second file would run as a cell.
 *
 * @throws RlmError `invalid_argument`
 */
export function checkScripts(args: readonly Argument[]): void {
  if (!args.some(({ option }) => option === "context")) return;
  const files = args.filter(({ option, value }) => option === null && value !== "-").map(({ value }) => value);
  const others = files.filter((path) => !isScript(path));
  if (others.length === 0) return;
  const shown = others.slice(0, SHOWN);
  const more = others.length > SHOWN ? ` (and ${others.length - SHOWN} more)` : "";
  throw new RlmError("invalid_argument", `${shown.join(", ")}${more}: next to -c, and not a script`, {
    suggestion: `Did you mean ${shown.map((path) => `-c ${path}`).join(" ")}${more}? Each -c takes one path; a folder is one path too. A cell is a file that ends in .js or .ts, or comes from stdin: - < FILE.`,
  });
}

const SHOWN = 3;

/**
 * True if a file can be meant as a cell. A file that cannot be read is reported later, when it is
 * read.
 */
function isScript(path: string): boolean {
  const stats = statsOf(path);
  // A pipe, such as that of <(command), can be read only once.
  if (!stats?.isFile()) return true;
  const extension = extname(path).toLowerCase();
  if (JAVASCRIPT.includes(extension)) return true;
  const isTypeScript = TYPESCRIPT.includes(extension);
  if (stats.size > LIMITS.sourceBytes || (extension !== "" && !isTypeScript)) return false;
  const text = readFileSync(path, "utf8");
  return isTypeScript ? !/^(?:import|export)\b/m.test(text) : isJavaScript(text);
}

const JAVASCRIPT = [".js", ".mjs", ".cjs"];
/** Most TypeScript is modules, which are no cells: `-c src/*.ts` is meant as a context. */
const TYPESCRIPT = [".ts", ".mts", ".cts"];

/** True if the text compiles. It does not run here. */
function isJavaScript(text: string): boolean {
  try {
    new Script(`(async () => {\n${text.replace(/^#!/, "//")}\n})`);
    return true;
  } catch {
    return false;
  }
}
