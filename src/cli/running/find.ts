import { setImmediate } from "node:timers/promises";
import {
  compileFind,
  convertedIn,
  type Document,
  escapePattern,
  type FindPattern,
  type FoundLine,
  isSearchedInPlace,
  isUnread,
  linesInPlace,
  openLineFinder,
  openPlaces,
  type SearchedText,
  type SearchReading,
  type SkippedFile,
  skippedStats,
  textFromString,
  textsAt,
  textsOfStream,
  Unsearched,
} from "../../context/index.ts";
import { amount, megabytes } from "../../platform/figures.ts";
import { statsOf } from "../../platform/paths.ts";
import { shellWord } from "../../platform/shell-word.ts";
import { inLine, jsonText } from "../../platform/visible.ts";
import type { Host } from "../commands/define.ts";
import type { FindFlags } from "../commands/find.ts";
import type { Arguments } from "../flags/arguments.ts";
import { OUTPUT_FLAGS } from "../flags/declared.ts";
import { loadingIn } from "../flags/values.ts";
import { rootsOf, type SearchRequest, searchedPaths, searchRequest } from "../input/sources.ts";
import { reportFailure } from "../render/failure.ts";
import { showLoaded } from "../render/loaded.ts";
import { openStatusLine, processClock } from "../render/status-line.ts";
import { type Output, processTerminal, stdoutTaken } from "../render/terminal.ts";
import { markedLine, placeLine, SHOWN_UNITS } from "../render/value.ts";
import { documentOptions } from "../session/settings.ts";

/** The exit code of a search that could not look everywhere, as grep has it. */
export const COULD_NOT_LOOK = 2;
const NOTHING_FOUND = 1;

const PACE = { onTerminal: { first: 1000, step: 200 }, elsewhere: { first: 3000, step: Number.POSITIVE_INFINITY } };

/**
 * `belay find`: prints each line that matches, file by file. It keeps nothing, so that signals end
 * it at once.
 */
export async function findCommand(args: Arguments, _host: Host, own: FindFlags): Promise<number> {
  let closed: number | null = null;
  const terminal = processTerminal((code) => {
    closed = code;
  });
  const isJson = args.get(OUTPUT_FLAGS.json);
  const isQuiet = args.get(OUTPUT_FLAGS.quiet);
  const wanted = searchRequest(args, "find", "pattern");
  const status = openStatusLine(terminal.stderr, processClock, { ...PACE, as: isQuiet ? "quiet" : "text" });
  const report = openReport();
  try {
    const pattern = patternOf(wanted.text, own);
    const print = printedText({ pattern, flags: own, isJson, output: terminal.stdout });
    const reading = {
      roots: rootsOf(wanted),
      cwd: process.cwd(),
      documents: { ...documentOptions(), ...loadingIn(args) },
      tell: (sentence: string, isDoubtful: boolean) =>
        report.tell(wanted.isNamed ? sentence : withoutHere(sentence), isDoubtful),
      onProgress: (read: Progress) => status.show(progressLine(read)),
    };
    let found = false;
    for await (const text of textsIn(wanted, reading)) {
      report.take(text);
      if ("reason" in text) continue;
      try {
        for await (const lines of print(text)) {
          found = true;
          status.clear();
          terminal.stdout.writeRaw(lines);
          await stdoutTaken();
          // A reader that has gone is told of in between.
          await setImmediate();
          if (closed !== null) return closed;
        }
      } catch (error) {
        if (!(error instanceof Unsearched)) throw error;
        report.take({ path: text.name, reason: `${error.message}${error.isDamaged ? LOSSY_CURE : ""}` });
      }
    }
    status.end();
    if (!isQuiet) report.show(terminal.stderr, args.get(OUTPUT_FLAGS.verbose));
    return report.isIncomplete() ? COULD_NOT_LOOK : found ? 0 : NOTHING_FOUND;
  } catch (error) {
    status.end();
    reportFailure(error, terminal, isJson);
    return COULD_NOT_LOOK;
  }
}

const LOSSY_CURE = "; --lossy reads them as U+FFFD";

/**
 * The pattern as the flags want it read.
 *
 * @throws RlmError for one that the dialect does not know
 */
function patternOf(text: string, { fixedStrings, wordRegexp, ignoreCase }: FindFlags): FindPattern {
  const source = fixedStrings ? escapePattern(text) : text;
  const letters = ignoreCase ? "im" : "m";
  const pattern = compileFind(source, letters);
  return wordRegexp ? compileFind(`\\b{start-half}(?:${source})\\b{end-half}`, letters) : pattern;
}

type Progress = Parameters<NonNullable<SearchReading["onProgress"]>>[0];

function progressLine({ files, bytes, converting }: Progress): string {
  return converting === undefined
    ? `searching: ${amount(files, "file")}, ${megabytes(bytes)}`
    : `converting ${inLine(converting)} …`;
}

/**
 * The texts of stdin and of the paths.
 *
 * @throws RlmError for a path that leads to nothing, before any text is read
 */
async function* textsIn(wanted: SearchRequest, reading: SearchReading): AsyncGenerator<SearchedText | SkippedFile> {
  const { paths, hasStdin } = searchedPaths(wanted);
  if (hasStdin) yield* textsOfStream(process.stdin, "stdin", reading);
  for await (const text of textsAt(paths, reading)) {
    if (wanted.isNamed) yield text;
    else if ("reason" in text) yield { ...text, path: withoutHere(text.path) };
    else yield { ...text, name: withoutHere(text.name) };
  }
}

/** Without a typed path, the files of this folder go by their own names. */
const withoutHere = (name: string) => name.replace(/^\.\//, "");

/**
 * Collects what stderr says of the files in the end: documents that became text, what they lost,
 * and files that were not read.
 */
function openReport() {
  const documents: Document[] = [];
  const skipped: SkippedFile[] = [];
  const sentences: string[] = [];
  let hasDoubts = false;
  return {
    tell(sentence: string, isDoubtful: boolean): void {
      sentences.push(sentence);
      hasDoubts ||= isDoubtful;
    },
    take(text: SearchedText | SkippedFile): void {
      if ("reason" in text) skipped.push(text);
      else if (text.original) {
        const { name: id, original, places = [], lost = [] } = text;
        documents.push({ id, path: "-", start: 0, end: 0, size: 0, original, places, lost });
      }
    },
    /** True if a file that should have text was not read, or not as it is. */
    isIncomplete: () => hasDoubts || skipped.some(({ reason }) => isUnread(reason)),
    show(stderr: Output, isVerbose: boolean): void {
      for (const sentence of sentences) stderr.line(sentence, "dim");
      const stats = { converted: convertedIn(documents), skipped: skippedStats(skipped) };
      showLoaded(stats, stderr, isVerbose);
      const line = permissionLine(skipped, isOwn);
      if (line !== null) stderr.write(`you may read ${line.count === 1 ? "it" : "them"} after: ${line.text}\n`, "dim");
    },
  };
}

const FORBIDDEN = ["cannot be read (EACCES)", "cannot be read (EPERM)"];
/** Files that the line names: more would fill a screen. */
const PERMITTED = 20;

/**
 * The line that lets the user read their own files that could not be read without permission; null
 * if there are none, or on Windows.
 */
export function permissionLine(
  skipped: readonly SkippedFile[],
  isOwn: (path: string) => boolean,
): { readonly text: string; readonly count: number } | null {
  const paths = skipped.filter(({ reason }) => FORBIDDEN.includes(reason)).map(({ path }) => path);
  const own = paths.filter(isOwn).slice(0, PERMITTED);
  if (own.length === 0) return null;
  return { text: `chmod u+rX ${own.map((path) => shellWord(path)).join(" ")}`, count: own.length };
}

/** True for what this user may give themselves the right to read. */
function isOwn(path: string): boolean {
  return process.getuid !== undefined && statsOf(path)?.uid === process.getuid();
}

/** The pattern, and the form in which its lines are printed. */
interface Form {
  readonly pattern: FindPattern;
  readonly flags: FindFlags;
  readonly isJson: boolean;
  readonly output: Output;
}

/** A line of a text, as it is printed. */
interface ShownLine extends FoundLine {
  readonly path: string;
  /** The part of a converted document, such as `p.12`. */
  readonly place: string | null;
}

/** Lines that are written at once. */
const AT_ONCE = 500;

/**
 * Gives the function that prints a text: some lines at a time, and nothing if the text does not
 * match.
 */
function printedText(form: Form): (text: SearchedText) => AsyncGenerator<string> {
  const { pattern, flags, isJson } = form;
  const { count, filesWithMatches, onlyMatching } = flags;
  const around = flags.aroundContext ?? 0;
  const lines = { before: flags.beforeContext ?? around, after: flags.afterContext ?? around };
  const isAlone = count || filesWithMatches || onlyMatching;
  const context = isAlone ? { before: 0, after: 0 } : lines;
  const hasGaps = !isJson && (context.before > 0 || context.after > 0);
  const printLine = linePrinter(form);
  let last: Pick<ShownLine, "path" | "line"> | null = null;

  function printed(line: ShownLine): string {
    const isApart = last !== null && (last.path !== line.path || last.line + 1 !== line.line);
    last = line;
    return `${hasGaps && isApart ? "--\n" : ""}${(onlyMatching ? matchesOf(line) : [line]).map(printLine).join("")}`;
  }

  async function* linesOf(text: SearchedText): AsyncGenerator<Iterable<FoundLine>> {
    if (text.file && isSearchedInPlace(text.file.text, pattern)) {
      for (const lines of linesInPlace(text.file, pattern, context)) {
        yield lines;
        // Signals and a reader that has gone are seen in between.
        await setImmediate();
      }
      return;
    }
    const finder = openLineFinder(pattern, context);
    for await (const [chunk, isLast] of withLast(text.chunks)) yield finder.take(chunk, isLast);
  }

  return async function* (text) {
    const placeAt = openPlace(text);
    let found = 0;
    let some: string[] = [];
    let failure: unknown;
    try {
      search: for await (const lines of linesOf(text)) {
        for (const line of lines) {
          // A line is printed once, but all of its matches are.
          if (line.isAgain && !onlyMatching) continue;
          found += 1;
          if (filesWithMatches) break search;
          if (count) continue;
          some.push(printed({ ...line, path: text.name, place: placeAt(line) }));
          if (some.length < AT_ONCE) continue;
          yield some.join("");
          some = [];
        }
      }
    } catch (error) {
      // The lines before the place of the failure are printed.
      failure = error;
    }
    const path = inLine(text.name);
    if (found > 0 && filesWithMatches) yield `${isJson ? jsonText({ path: text.name }) : path}\n`;
    else if (found > 0 && count) yield `${isJson ? jsonText({ path: text.name, count: found }) : `${path}:${found}`}\n`;
    else if (some.length > 0) yield some.join("");
    if (failure !== undefined) throw failure;
  };
}

/** Chunks with the word whether one is the last. If the rest cannot be read, whole lines before it are the last one. */
async function* withLast(chunks: SearchedText["chunks"]): AsyncGenerator<readonly [Uint8Array, boolean]> {
  let last: Uint8Array | undefined;
  try {
    for await (const chunk of chunks) {
      if (last) yield [last, false];
      last = chunk;
    }
  } catch (error) {
    if (last) yield [last.subarray(0, last.lastIndexOf(LINE_FEED) + 1 || last.length), true];
    throw error;
  }
  if (last) yield [last, true];
}

const LINE_FEED = 0x0a;

/** Tells the part of a converted document, which is one chunk, in which a line's first match lies. */
function openPlace({ name, chunks, places = [] }: SearchedText): (line: FoundLine) => string | null {
  if (places.length === 0 || !(Symbol.iterator in chunks)) return () => null;
  const text = textFromString(Buffer.concat([...chunks]).toString());
  const document = { id: name, path: "-", start: 0, end: text.length, size: text.length, places };
  const { at } = openPlaces(text, [document]);
  return (line) => at(text.unitAt(line.byte))?.place ?? null;
}

/** A line for each match, with the match as its text. */
function matchesOf(line: ShownLine): ShownLine[] {
  const lead = (line.column ?? 1) - (line.marks[0]?.[0] ?? 0);
  return line.marks.map(([start, end]) => ({
    ...line,
    column: lead + start,
    text: line.text.slice(start, end),
    marks: [[0, end - start]],
  }));
}

/** Prints a line as JSON, for a terminal, or for a pipe as the text is in the file. */
function linePrinter({ isJson, output, flags }: Form): (line: ShownLine) => string {
  const { isTerminal, paint } = output;
  const most = flags.maxColumns ?? (isTerminal ? SHOWN_UNITS : Number.POSITIVE_INFINITY);
  const plain = { paint: (text: string) => text };
  const shown = ({ text, marks }: ShownLine) => {
    if (isTerminal) return markedLine(text, marks, most, output);
    return text.length > most ? markedLine(text, marks, most, plain) : text;
  };
  return (line) => {
    if (isJson) return `${jsonLine(line)}\n`;
    const { path: id, line: number, column, place, text, marks } = line;
    if (column === null) {
      return `${paint(inLine(id), "magenta")}-${paint(String(number), "green")}- ${shown(line)}\n`;
    }
    if (isTerminal) return `${placeLine({ id, line: number, column, place, text, marks }, output, most)}\n`;
    return `${inLine(id)}:${number}:${column}: ${shown(line)}\n`;
  };
}

function jsonLine({ path, line, column, place, text, isCut }: ShownLine): string {
  return jsonText({
    path,
    line,
    ...(column === null ? {} : { column }),
    ...(place === null ? {} : { place }),
    text,
    ...(isCut ? { cut: true } : {}),
  });
}
