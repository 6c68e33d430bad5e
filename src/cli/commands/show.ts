import type { Given } from "../flags/arguments.ts";
import { NAMED_FLAGS, OUTPUT_FLAGS } from "../flags/declared.ts";
import { count, flags, path, session, toggle } from "../flags/flag.ts";
import type { CommandWords } from "./define.ts";

const OWN = flags({
  exec: { type: count(), excludes: ["last"], help: "show this exec whole" },
  last: { type: toggle, help: "show the last exec whole" },
  call: { type: count(), help: "show this sub-call whole" },
  unread: {
    type: toggle,
    excludes: ["exec", "last", "call", "otlp"],
    help: "list the documents that no exec since the last load has opened, the largest first",
  },
  against: {
    type: { ...session, word: "OTHER" },
    excludes: ["exec", "last", "call", "unread", "otlp"],
    help: "report how SESSION differs from OTHER: documents, calls with the reason why each was asked, result and answer",
  },
  all: { type: toggle, help: "list every exec, sub-call and checkpoint, also of a long session" },
  redact: {
    type: toggle,
    needs: ["json"],
    help: "replace keys and passwords in known forms by [redacted: N characters]",
  },
  otlp: {
    type: path("FILE|URL"),
    excludes: ["exec", "last", "call", "all", "redact", "json"],
    help: "write its OpenTelemetry spans as lines of OTLP to FILE or stdout (-), or send them to the collector at URL",
  },
});

export type ShowFlags = Given<typeof OWN>;

export const show = {
  name: "show",
  summary: "show the execs, sub-calls and checkpoints of a session, also after a crash",
  details: [
    "Name a session by its name, its id, the end of its id (six characters or more), as @last, or as RUN/ID, the session of a job. Without SESSION it is the one changed last, and stderr names it.",
    "Execs and their calls are numbered. Turns are below their ask, cells below their turn, calls below their cell, and a child below the call that it answers. For a long session the newest execs are listed, and the number of earlier ones.",
    "--exec N shows what was run, printed and answered, and the line that forks the session after it; --call N shows a prompt and its answer whole, of the exec that --exec names or of the last one that made calls. --json has everything: see docs/show.md. Texts of more than 64 KB are cut unless --exec or --call names them.",
  ],
  takes: { usage: "[SESSION]", completes: "sessions" },
  own: OWN,
  shared: [
    { ...OUTPUT_FLAGS.json, help: "print one JSON object with everything, or with the named exec or call" },
    NAMED_FLAGS.store,
  ],
  examples: [
    {
      lines: [
        ["exec", "-e", "let n = 42", "--session", "demo"],
        ["show", "demo"],
      ],
    },
  ],
} satisfies CommandWords;
