import type { Given } from "../flags/arguments.ts";
import { CONTEXT_SIZE, INPUT_FLAGS, OUTPUT_FLAGS } from "../flags/declared.ts";
import { count, flags } from "../flags/flag.ts";
import type { CommandWords } from "./define.ts";

const MOST_HITS = 100;

const OWN = flags({
  hits: { short: "n", type: count(MOST_HITS), help: `places to print, 1 to ${MOST_HITS} (default 10)` },
});

export type SearchFlags = Given<typeof OWN>;

export const search = {
  name: "search",
  summary: "print the lines of files that best match some words, as path:line: text",
  details: [
    "PATHs are files, folders and globs, and - is stdin; the default is this folder. A folder's .gitignore applies. Other forms of a word match too, and parts of identifiers; the best place comes first, with its line that has most of the words. `belay find` looks for an exact pattern.",
    "The exit code is 0 if something was found, 1 if nothing was, and 2 if a file that should have text could not be read: stderr names it. Only an index of the words is saved, so that the next search of the same files is faster.",
  ],
  takes: { usage: '"WORDS" [PATH | -]...', completes: "files" },
  own: OWN,
  shared: [
    { ...INPUT_FLAGS.context, help: "look in this path too: the same as another PATH" },
    {
      ...OUTPUT_FLAGS.json,
      help: "print one JSON object per place: path, line, score, text (about 1,500 characters around that line)",
    },
    { ...INPUT_FLAGS.includeSecrets, needs: [] },
    { ...INPUT_FLAGS.encoding, needs: [] },
    { ...INPUT_FLAGS.lossy, needs: [] },
    ...CONTEXT_SIZE,
    OUTPUT_FLAGS.quiet,
    OUTPUT_FLAGS.verbose,
  ],
  examples: [{ lines: [["search", "TODO", "."]] }],
} satisfies CommandWords;
