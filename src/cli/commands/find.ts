import type { Given } from "../flags/arguments.ts";
import { CONTEXT, ENCODING, INCLUDE_SECRETS, JSON_OUTPUT, LOSSY, QUIET, VERBOSE } from "../flags/declared.ts";
import { flags, toggle } from "../flags/flag.ts";
import { defineCommand } from "./define.ts";

const OWN = flags({ ignoreCase: { short: "i", type: toggle, help: "take upper and lower case for the same" } });

export type FindFlags = Given<typeof OWN>;

export const find = defineCommand({
  name: "find",
  summary: "print the lines of files that match a pattern, as path:line:column: text",
  details: [
    "PATHs are files, folders and globs, and - is stdin; without one it is this folder. A folder is read by its .gitignore. PATTERN is of Rust's regex dialect, as in cells, and ^ and $ match at lines. All lines are printed, each once, with the column of its first match.",
    "The exit code is 0 if something matched, 1 if nothing did, and 2 if it could not look: a wrong pattern, a path that is not there, or more text than a context holds. Nothing is kept: for questions of more than one line use `belay exec -c PATH`.",
  ],
  takes: { usage: "PATTERN [PATH | -]...", completes: "files" },
  own: OWN,
  shared: [
    { ...CONTEXT, help: "look in this path too: the same as a PATH behind the others" },
    { ...JSON_OUTPUT, help: "print one JSON object per line that matches: path, line, column, text" },
    { ...INCLUDE_SECRETS, needs: [] },
    { ...ENCODING, needs: [] },
    { ...LOSSY, needs: [] },
    QUIET,
    VERBOSE,
  ],
  example: "belay find 'TODO|FIXME' .",
  run: async () => (await import("../running/find.ts")).findCommand,
});
