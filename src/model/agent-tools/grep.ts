import { Type } from "typebox";
import { RlmError } from "../../../runtime/index.ts";
import { compileFind, type FindPattern } from "../../context/find.ts";
import { escaped, matchGlob } from "./glob-pattern.ts";
import { blocksOf, LINE_UNITS, type MatchedLine, matchedLines } from "./grep-lines.ts";
import { fitting, MAX_BYTES, size, withNotes } from "./output.ts";
import { filesIn, pauseFor, placeOf, type ReadableRoots, textOf } from "./places.ts";
import { type AgentTool, defineReadTool, type ToolAnswer } from "./tool.ts";

const DEFAULT_LIMIT = 100;
const MAX_CONTEXT = 100;
/** Opening a file takes about as long as searching this much. */
const FILE_COST_BYTES = 64 * 1024;

interface Found {
  readonly name: string;
  readonly text: string;
  readonly lines: readonly MatchedLine[];
}

/** `grep`: lines that match a pattern of Rust's regex syntax, with the parameters and bounds of Pi's `grep`. */
export function grepTool(readable: ReadableRoots): AgentTool {
  return defineReadTool({
    name: "grep",
    description: `Search text files for a pattern, line by line. Answers with paths, line numbers and lines; leaves out what .gitignore excludes. The answer is cut to ${DEFAULT_LIMIT} matching lines or ${MAX_BYTES / 1024}KB, whichever comes first, and long lines to ${LINE_UNITS} characters around the match.`,
    params: {
      pattern: Type.String({ description: "Regular expression (Rust syntax), or a literal string", minLength: 1 }),
      path: Type.Optional(Type.String({ description: "Folder or file to search (default: all)" })),
      glob: Type.Optional(Type.String({ description: "Only files that match this glob, e.g. '*.ts'", minLength: 1 })),
      ignore_case: Type.Optional(Type.Boolean({ description: "Ignore case (default: false)" })),
      literal: Type.Optional(Type.Boolean({ description: "The pattern is a literal string (default: false)" })),
      context: Type.Optional(
        Type.Integer({ description: "Lines to show before and after each match (default: 0)", minimum: 0 }),
      ),
      limit: Type.Optional(
        Type.Integer({ description: `Maximum number of matching lines (default: ${DEFAULT_LIMIT})`, minimum: 1 }),
      ),
    },
    async run({ pattern, path, glob, ignore_case, literal, context = 0, limit = DEFAULT_LIMIT }, signal) {
      const compiled = compile(literal === true ? escaped(pattern) : pattern, ignore_case === true);
      const place = path === undefined || path === "" ? undefined : placeOf(readable, path);
      const pause = pauseFor(signal);
      const files = await filesIn(readable, place, pause);
      const paths = files.map(({ below }) => below);
      const chosen = glob === undefined ? undefined : matchGlob(glob, paths);
      const found: Found[] = [];
      let left = limit + 1;
      for (const [index, file] of files.entries()) {
        if (left === 0) break;
        if (chosen?.[index] === false) continue;
        const content = textOf(readable, file.path);
        if ("reason" in content && place?.isFolder === false) throw unreadable(place.given, content.reason);
        const text = "text" in content ? content.text : "";
        await pause(FILE_COST_BYTES + text.length);
        const lines = await matchedLines(text, compiled, left, pause);
        left -= lines.length;
        if (lines.length > 0) found.push({ name: file.name, text, lines });
      }
      return answer(found, limit, Math.min(context, MAX_CONTEXT), left === 0);
    },
  });
}

/** The pattern and the rest of its line: so that each matching line is found once, where its first match begins. */
function compile(pattern: string, ignoreCase: boolean): { rest: FindPattern; alone: FindPattern } {
  const flags = ignoreCase ? "im" : "m";
  try {
    return { rest: compileFind(`(?:${pattern})[^\\n]*`, flags), alone: compileFind(pattern, flags) };
  } catch (error) {
    if (!(error instanceof RlmError)) throw error;
    throw new RlmError("invalid_argument", `grep: ${error.message.replace(/^find: /, "")}`, {
      suggestion: "Correct the pattern, or pass literal: true.",
    });
  }
}

function answer(found: readonly Found[], limit: number, context: number, isOver: boolean): ToolAnswer {
  if (found.length === 0) return { text: "No matches found" };
  let left = limit;
  let anyCut = false;
  const output: string[] = [];
  for (const { name, text, lines } of found) {
    const { block, cut } = blocksOf(name, text, lines.slice(0, left), context);
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

function unreadable(given: string, reason: string): RlmError {
  return new RlmError("invalid_argument", `${given} cannot be read: ${reason}`, { suggestion: "Search other files." });
}
