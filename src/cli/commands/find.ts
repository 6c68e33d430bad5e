import type { Given } from "../flags/arguments.ts";
import { CONTEXT, ENCODING, INCLUDE_SECRETS, JSON_OUTPUT, LOSSY, QUIET, VERBOSE } from "../flags/declared.ts";
import { count, flags, toggle } from "../flags/flag.ts";
import { defineCommand } from "./define.ts";

const lines = count(10_000, 0);

const OWN = flags({
  fixedStrings: { short: "F", type: toggle, help: "take PATTERN as it is: no character of it has another meaning" },
  wordRegexp: { short: "w", type: toggle, help: "match whole words only" },
  ignoreCase: { short: "i", type: toggle, help: "take upper and lower case for the same" },
  onlyMatching: { short: "o", type: toggle, help: "print each match alone instead of its line" },
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
  afterContext: { short: "A", type: lines, help: "print N lines behind each line that matches too" },
  beforeContext: { short: "B", type: lines, help: "print N lines before each line that matches too" },
  aroundContext: { short: "C", type: lines, help: "print N lines before and behind each line that matches too" },
  maxColumns: {
    type: count(),
    help: "show at most N characters of a line, around its first match (default 200 on a terminal, else all)",
  },
});

export type FindFlags = Given<typeof OWN>;

export const find = defineCommand({
  name: "find",
  summary: "print the lines of files that match a pattern, as path:line:column: text",
  details: [
    "PATHs are files, folders and globs, and - is stdin; without one it is this folder. A folder is read by its .gitignore. Files are read one after the other, so they may be of any size and number. PATTERN is of Rust's regex dialect, as in cells, and ^ and $ match at lines. All lines are printed, each once, with the column of its first match; a line beside one that matches (-A, -B, -C) is path-line- text.",
    "The exit code is 0 if something matched, 1 if nothing did, and 2 if it could not look everywhere: a wrong pattern, a path that is not there, or a file that should have text and could not be read (damaged, encrypted, without text, too large, no permission), which stderr names. Binary files and files that may contain secrets are left out and counted. Nothing is kept: for questions of more than one line use `belay exec -c PATH`.",
  ],
  takes: { usage: "PATTERN [PATH | -]...", completes: "files" },
  own: OWN,
  shared: [
    { ...CONTEXT, help: "look in this path too: the same as a PATH behind the others" },
    {
      ...JSON_OUTPUT,
      help: "print one JSON object per line: path, line, column, text; a line beside one that matches has no column",
    },
    { ...INCLUDE_SECRETS, needs: [] },
    { ...ENCODING, needs: [] },
    { ...LOSSY, needs: [] },
    QUIET,
    VERBOSE,
  ],
  example: "belay find 'TODO|FIXME' .",
  run: async () => (await import("../running/find.ts")).findCommand,
});
