import type { Given } from "../flags/arguments.ts";
import { INPUT_FLAGS, OUTPUT_FLAGS } from "../flags/declared.ts";
import { count, flags, toggle } from "../flags/flag.ts";
import type { CommandWords } from "./define.ts";

const lines = count(10_000, 0);

const OWN = flags({
  fixedStrings: { short: "F", type: toggle, help: "match PATTERN literally" },
  wordRegexp: { short: "w", type: toggle, help: "match whole words only" },
  ignoreCase: { short: "i", type: toggle, help: "ignore the difference between upper and lower case" },
  onlyMatching: { short: "o", type: toggle, help: "print only the match instead of its line" },
  filesWithMatches: {
    short: "l",
    type: toggle,
    excludes: ["count", "only-matching"],
    help: "print only the paths of files that match",
  },
  count: {
    type: toggle,
    excludes: ["only-matching"],
    help: "print only path:N, where N lines of the file match (-c is --context)",
  },
  afterContext: { short: "A", type: lines, help: "also print N lines after each matching line" },
  beforeContext: { short: "B", type: lines, help: "also print N lines before each matching line" },
  aroundContext: { short: "C", type: lines, help: "also print N lines before and after each matching line" },
  maxColumns: {
    type: count(),
    help: "show at most N characters of a line, around its first match (default 200 on a terminal, else all)",
  },
});

export type FindFlags = Given<typeof OWN>;

export const find = {
  name: "find",
  summary: "print the lines of files that match a pattern, as path:line:column: text",
  details: [
    "PATHs are files, folders and globs, and - is stdin; the default is this folder. A folder's .gitignore applies. Files are searched where they lie, one after the other, so they may be of any size and number. PATTERN is of Rust's regex dialect, as in cells, and ^ and $ match at lines. All lines are printed, each once, with the column of its first match; a line next to a match (-A, -B, -C) is path-line- text.",
    "The exit code is 0 if something matched, 1 if nothing did, and 2 if the pattern is wrong, a path is missing, or a file that should have text could not be read: stderr names it (damaged, encrypted, without text, no permission, or not UTF-8 without --lossy: many bytes, or any if it is over 100 MB). Binary files and files that may contain secrets are left out and counted. Nothing is saved: for longer work use `belay exec -c PATH`.",
  ],
  takes: { usage: "PATTERN [PATH | -]...", completes: "files" },
  own: OWN,
  shared: [
    { ...INPUT_FLAGS.context, help: "look in this path too: the same as another PATH" },
    {
      ...OUTPUT_FLAGS.json,
      help: "print one JSON object per line: path, line, column, text; a line next to a match has no column",
    },
    { ...INPUT_FLAGS.includeSecrets, needs: [] },
    { ...INPUT_FLAGS.encoding, needs: [] },
    { ...INPUT_FLAGS.lossy, needs: [] },
    OUTPUT_FLAGS.quiet,
    OUTPUT_FLAGS.verbose,
  ],
  examples: [{ lines: [["find", "TODO|FIXME", "."]] }],
} satisfies CommandWords;
