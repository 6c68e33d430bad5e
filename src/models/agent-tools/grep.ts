import { RlmError } from "../../../runtime/index.ts";
import { compileFind, escapePattern, type FindPattern, matchGlob } from "../../context/index.ts";
import { filesIn, pauseFor, placeOf, textOf } from "./allowed-paths.ts";
import { blocksOf, LINE_UNITS, type MatchedLine, matchedLines } from "./grep-lines.ts";
import { fitting, MAX_BYTES, shownName, size, withNotes } from "./output.ts";
import { count, flag, type ReadTool, refused, type ToolAnswer, text } from "./tool.ts";

const DEFAULT_LIMIT = 100;
const MAX_CONTEXT = 100;
/** Opening a file takes about as long as searching this much. */
const FILE_COST_BYTES = 64 * 1024;

interface Found {
  readonly name: string;
  readonly body: string;
  readonly lines: readonly MatchedLine[];
}

/**
 * `grep`: lines that match a pattern of Rust's regex syntax, with the parameters and bounds of Pi's
 * `grep`.
 */
export const grep: ReadTool = {
  name: "grep",
  aliases: [],
  description: `Search text files for a pattern, line by line. Answers with paths, line numbers and lines; leaves out what .gitignore excludes. The answer is cut to ${DEFAULT_LIMIT} matching lines or ${MAX_BYTES / 1024}KB, whichever comes first, and long lines to ${LINE_UNITS} characters around the match.`,
  params: {
    pattern: text("Regular expression (Rust syntax), or a literal string"),
    path: text("Folder or file to search (default: all)"),
    glob: text("Only files that match this glob, e.g. '*.ts'"),
    ignore_case: flag("Ignore case (default: false)"),
    literal: flag("The pattern is a literal string (default: false)"),
    context: count("Lines to show before and after each match (default: 0)", 0),
    limit: count(`Maximum number of matching lines (default: ${DEFAULT_LIMIT})`, 1),
  },
  required: ["pattern"],
  async run(readable, args, signal) {
    const pattern = args.text("pattern") ?? "";
    const limit = args.count("limit") ?? DEFAULT_LIMIT;
    const compiled = compile(args.flag("literal") ? escapePattern(pattern) : pattern, args.flag("ignore_case"));
    const path = args.text("path") ?? "";
    const place = path === "" ? undefined : placeOf(readable, path);
    const pause = pauseFor(signal);
    const files = await filesIn(readable, place, pause);
    const glob = args.text("glob") ?? "";
    const paths = files.map(({ below }) => below);
    const chosen = glob === "" ? undefined : matchGlob(glob, paths);
    const found: Found[] = [];
    let left = limit + 1;
    for (const [index, file] of files.entries()) {
      if (left === 0) break;
      if (chosen?.[index] === false) continue;
      const content = await textOf(readable, file.path, signal);
      if ("reason" in content && place?.isFolder === false) {
        throw refused(`${place.given} cannot be read: ${content.reason}`, "Search other files.");
      }
      const body = "text" in content ? content.text : "";
      await pause(FILE_COST_BYTES + body.length);
      const lines = await matchedLines(body, compiled, left, pause);
      left -= lines.length;
      if (lines.length > 0) found.push({ name: file.name, body, lines });
    }
    return answer(found, limit, Math.min(args.count("context") ?? 0, MAX_CONTEXT), left === 0);
  },
};

/**
 * The pattern, and the pattern with the rest of its line: the latter finds each matching line once,
 * at its first match.
 */
function compile(pattern: string, ignoreCase: boolean): { rest: FindPattern; alone: FindPattern } {
  const flags = ignoreCase ? "im" : "m";
  try {
    return { rest: compileFind(`(?:${pattern})[^\\n]*`, flags), alone: compileFind(pattern, flags) };
  } catch (error) {
    if (!(error instanceof RlmError)) throw error;
    const problem = `grep: ${error.message.replace(/^find: /, "")}`;
    throw refused(problem, "Correct the pattern, or pass literal: true.");
  }
}

function answer(found: readonly Found[], limit: number, context: number, isOver: boolean): ToolAnswer {
  if (found.length === 0) return { text: "No matches found" };
  let left = limit;
  let anyCut = false;
  const output: string[] = [];
  for (const { name, body, lines } of found) {
    const { block, cut } = blocksOf(shownName(name), body, lines.slice(0, left), context);
    if (output.length > 0 && context > 0 && block.length > 0) output.push("--");
    output.push(...block);
    left -= lines.length;
    anyCut ||= cut;
    if (left <= 0) break;
  }
  const { shown, cut } = fitting(output);
  const notes: string[] = [];
  if (isOver) notes.push(`${limit} matches limit reached. Use limit=${limit * 2} for more, or refine the pattern`);
  if (cut) notes.push(`${size(MAX_BYTES)} limit reached`);
  if (anyCut) notes.push(`Some lines are cut to ${LINE_UNITS} characters around the match`);
  return { text: withNotes(shown.join("\n"), notes) };
}
