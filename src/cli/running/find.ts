import { setImmediate } from "node:timers/promises";
import {
  compileFind,
  convertedIn,
  type Document,
  escapePattern,
  type FindPattern,
  isUnread,
  type SearchedText,
  type SearchReading,
  type SkippedFile,
  skippedStats,
  TooLong,
  textsAt,
  textsOfStream,
} from "../../context/index.ts";
import { amount, megabytes } from "../../platform/figures.ts";
import { inLine } from "../../platform/visible.ts";
import type { FindFlags } from "../commands/find.ts";
import type { Arguments } from "../flags/arguments.ts";
import { JSON_OUTPUT, QUIET, VERBOSE } from "../flags/declared.ts";
import { loadingIn } from "../flags/values.ts";
import type { Host } from "../host.ts";
import { type LookedFor, lookedFor, rootsOf, searchedPaths } from "../input/sources.ts";
import { reportFailure } from "../render/failure.ts";
import { printedText } from "../render/found-lines.ts";
import { showLoaded } from "../render/loaded.ts";
import { openStatusLine, processClock } from "../render/status-line.ts";
import { type Output, processTerminal } from "../render/terminal.ts";
import { documentOptions } from "../session/settings.ts";

/** The exit code of a search that could not look everywhere, as grep has it. */
export const COULD_NOT_LOOK = 2;
const NOTHING_FOUND = 1;

const PACE = { onTerminal: { first: 1000, step: 200 }, elsewhere: { first: 3000, step: Number.POSITIVE_INFINITY } };

/** `belay find`: prints each line that matches, file by file. Gives the exit code. It keeps nothing, so that signals end it at once. */
export async function findCommand(args: Arguments, _host: Host, own: FindFlags): Promise<number> {
  let closed: number | null = null;
  const terminal = processTerminal((code) => {
    closed = code;
  });
  const isJson = args.get(JSON_OUTPUT);
  const isQuiet = args.get(QUIET);
  const wanted = lookedFor(args, "find", "pattern");
  const status = openStatusLine(terminal.stderr, processClock, { ...PACE, as: isQuiet ? "quiet" : "text" });
  const report = openReport();
  try {
    const pattern = patternOf(wanted.text, own);
    const print = printedText({ pattern, flags: own, isJson, output: terminal.stdout });
    const reading = {
      roots: rootsOf(wanted),
      cwd: process.cwd(),
      documents: { ...documentOptions(), ...loadingIn(args) },
      tell: report.tell,
      isWhole: !pattern.lineLocal,
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
          // A reader that has gone is told of in between.
          await setImmediate();
          if (closed !== null) return closed;
        }
      } catch (error) {
        if (!(error instanceof TooLong)) throw error;
        report.take({ path: text.name, reason: error.message });
      }
    }
    status.end();
    if (!isQuiet) report.show(terminal.stderr, args.get(VERBOSE));
    return report.isIncomplete() ? COULD_NOT_LOOK : found ? 0 : NOTHING_FOUND;
  } catch (error) {
    status.end();
    reportFailure(error, terminal, isJson);
    return COULD_NOT_LOOK;
  }
}

/** The pattern as the flags want it read. @throws RlmError for one that the dialect does not know */
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

/** The texts of stdin and of the paths. @throws RlmError for a path that leads to nothing, before any text is read */
async function* textsIn(wanted: LookedFor, reading: SearchReading): AsyncGenerator<SearchedText | SkippedFile> {
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

/** Collects what stderr says of the files in the end: documents that became text, what they lost, and files that were not read. */
function openReport() {
  const documents: Document[] = [];
  const skipped: SkippedFile[] = [];
  const sentences: string[] = [];
  return {
    tell: (sentence: string) => void sentences.push(sentence),
    take(text: SearchedText | SkippedFile): void {
      if ("reason" in text) skipped.push(text);
      else if (text.original) {
        const { name: id, original, places = [], lost = [] } = text;
        documents.push({ id, path: "-", start: 0, end: 0, size: 0, original, places, lost });
      }
    },
    /** True if a file that should have text was not read. */
    isIncomplete: () => skipped.some(({ reason }) => isUnread(reason)),
    show(stderr: Output, isVerbose: boolean): void {
      for (const sentence of sentences) stderr.write(`${inLine(sentence)}\n`, "dim");
      const stats = { converted: convertedIn(documents), skipped: skippedStats(skipped) };
      showLoaded(stats, stderr, isVerbose);
    },
  };
}
