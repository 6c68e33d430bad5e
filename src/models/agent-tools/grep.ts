import { RlmError } from "../../../runtime/index.ts";
import {
  compileFind,
  escapePattern,
  type FindPattern,
  find,
  matchGlob,
  type Pause,
  textFromString,
} from "../../context/index.ts";
import { filesIn, pauseFor, placeOf, textOf } from "./allowed-paths.ts";
import {
  count,
  fitting,
  flag,
  type Line,
  linesOf,
  MAX_BYTES,
  type ReadTool,
  refused,
  shownName,
  size,
  type ToolAnswer,
  text,
  withNotes,
} from "./tool.ts";

/** A line that matches; `at` is where its match begins (UTF-16 units of the text). */
interface MatchedLine extends Line {
  readonly at: number;
}

/** A longer line is shown in part. */
const LINE_UNITS = 500;
const UNITS_BEFORE_MATCH = 100;
/** Searching one line alone takes about as long as reading this much. */
const MAX_CANDIDATES = 1_000_000;
const LINE_COST_BYTES = 16 * 1024;

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

/**
 * The first `limit` lines in which the pattern matches as if each line were a text of its own.
 * `rest` is the pattern with the rest of the line. A match of it that can span lines only tells
 * which lines to try: every line that matches alone is touched by one.
 */
async function matchedLines(
  text: string,
  { rest, alone }: { rest: FindPattern; alone: FindPattern },
  limit: number,
  pause: Pause,
): Promise<MatchedLine[]> {
  const body = text.endsWith("\n") ? text.slice(0, -1) : text;
  if (text === "") return [];
  const isExact = rest.lineLocal;
  const { matches } = find(textFromString(body), rest, isExact ? limit : MAX_CANDIDATES);
  const matched: MatchedLine[] = [];
  const lines = linesOf(text);
  let line = lines.next().value;
  for (const [start, end] of matches) {
    while (line && line.end < start) line = lines.next().value;
    while (line && line.start <= end && matched.length < limit) {
      if (matched.at(-1)?.number !== line.number) {
        const at = isExact ? start : await matchAlone(body.slice(line.start, line.end), alone, pause);
        if (at !== undefined) matched.push({ ...line, at: isExact ? at : line.start + at });
      }
      if (line.end >= end) break;
      line = lines.next().value;
    }
    if (matched.length === limit) break;
  }
  return matched;
}

async function matchAlone(line: string, pattern: FindPattern, pause: Pause): Promise<number | undefined> {
  await pause(LINE_COST_BYTES + line.length);
  return find(textFromString(line), pattern, 1).matches[0]?.[0];
}

/**
 * The lines as grep prints them, with `context` lines around each; `cut`: some are shown in part.
 */
function blocksOf(
  name: string,
  text: string,
  lines: readonly MatchedLine[],
  context: number,
): { block: string[]; cut: boolean } {
  const block: string[] = [];
  const matched = new Map(lines.map((line) => [line.number, line]));
  let cut = false;
  let last = 0;
  let next = 0;
  for (const line of linesOf(text)) {
    while (next < lines.length && (lines[next]?.number ?? 0) + context < line.number) next += 1;
    const nearest = lines[next];
    if (nearest === undefined) break;
    if (nearest.number - context > line.number) continue;
    if (context > 0 && last > 0 && last < line.number - 1) block.push("--");
    last = line.number;
    const at = matched.get(line.number)?.at;
    const shown = excerpt(text.slice(line.start, line.end).replace(/\r$/, ""), (at ?? line.start) - line.start);
    cut ||= shown.cut;
    block.push(at === undefined ? `${name}-${line.number}- ${shown.text}` : `${name}:${line.number}: ${shown.text}`);
  }
  return { block, cut };
}

function excerpt(line: string, at: number): { text: string; cut: boolean } {
  if (line.length <= LINE_UNITS) return { text: line, cut: false };
  const start = Math.max(0, Math.min(at - UNITS_BEFORE_MATCH, line.length - LINE_UNITS));
  const end = start + LINE_UNITS;
  const part = line.slice(start, end).toWellFormed();
  return { text: `${start > 0 ? "... " : ""}${part}${end < line.length ? "... [truncated]" : ""}`, cut: true };
}
