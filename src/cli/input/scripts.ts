import { readFileSync, statSync } from "node:fs";
import { extname } from "node:path";
import { Script } from "node:vm";
import { LIMITS, RlmError } from "../../index.ts";
import type { Argument } from "../flags/arguments.ts";

/**
 * Refuses FILEs next to -c that are not scripts: a shell makes `-c a.log b.log` of `-c *.log`, and the second file would
 * run as a cell.
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
    suggestion: `Did you mean ${shown.map((path) => `-c ${path}`).join(" ")}${more}? Each -c takes one path; a folder is one path too. A cell is a file that ends in .js, or comes from stdin: - < FILE.`,
  });
}

const SHOWN = 3;

/** Whether a file can be meant as a cell. What cannot be read is reported later, when it is read. */
function isScript(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  // A pipe, such as that of <(command), can be read only once.
  if (!found?.isFile()) return true;
  const extension = extname(path).toLowerCase();
  if (SCRIPTS.includes(extension)) return true;
  return UNDECIDED.includes(extension) && found.size <= LIMITS.sourceBytes && isJavaScript(readFileSync(path, "utf8"));
}

const SCRIPTS = [".js", ".mjs", ".cjs"];
/** The text decides: a cell may have no extension, and TypeScript without types is JavaScript. */
const UNDECIDED = ["", ".ts"];

/** Only compiles the text; nothing of it runs here. */
function isJavaScript(text: string): boolean {
  try {
    new Script(`(async () => {\n${text.replace(/^#!/, "//")}\n})`);
    return true;
  } catch {
    return false;
  }
}
