import type { Given } from "../flags/arguments.ts";
import { NAMED_FLAGS, OUTPUT_FLAGS } from "../flags/declared.ts";
import { count, flags, path, toggle } from "../flags/flag.ts";
import type { CommandWords } from "./define.ts";

const OWN = flags({
  output: {
    short: "o",
    type: path("FILE"),
    excludes: ["json"],
    help: "write the page to FILE instead, which can be read without Belay; - is stdout",
  },
  noOpen: {
    type: toggle,
    excludes: ["output", "json"],
    help: "print the address of the page without opening a browser",
  },
  noTexts: { type: toggle, help: "leave out prompts, answers, code, output and names: figures, codes and hashes stay" },
  maxMb: {
    type: count(),
    excludes: ["json", "no-texts"],
    help: "cut the oldest texts so that the page takes N MB (default 32)",
  },
});

export type ViewFlags = Given<typeof OWN>;

export const view = {
  name: "view",
  summary: "show a session or a run in a browser: its calls or jobs over time, their costs, and every text",
  details: [
    "Name a session as for `belay show`. Without SESSION it is the one changed last, and stderr names it. It may be running.",
    "The name of a run shows its jobs, and from the server a job opens its session. If a session has the same name, run:NAME is the run.",
    "With OTHER the page also says how SESSION differs from OTHER, as `belay show SESSION --against OTHER` does.",
    "The page is served only on this computer, to anyone with the printed address, and follows running work. Ctrl-C ends it, and so does an hour without a visitor. Over SSH and without a display no browser is opened.",
    "With -o it is a file, which holds prompts, answers, output and passages of P unless --no-texts is given. Keys in known forms are redacted. The file has mode 0600. An existing file is replaced only if it is such a page.",
  ],
  takes: { usage: "[SESSION [OTHER] | RUN]", completes: "sessions" },
  own: OWN,
  shared: [
    { ...OUTPUT_FLAGS.json, help: "print one JSON object with the figures of the page, without its texts" },
    NAMED_FLAGS.store,
  ],
  examples: [
    {
      lines: [
        ["exec", "-e", "let n = 42", "--session", "demo"],
        ["view", "demo", "-o", "demo.html"],
      ],
    },
  ],
} satisfies CommandWords;
