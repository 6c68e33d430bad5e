import { SESSION_FLAGS } from "../flags/declared.ts";
import type { CommandWords } from "./define.ts";

export const repl = {
  name: "repl",
  summary: "explore a context cell by cell; variables stay from one to the next",
  details: [
    "A line that leaves the code open is continued on the next; .help lists the commands. Ctrl-C interrupts a running cell and keeps the variables, Ctrl-D exits. The session is saved: --session NAME continues it.",
    "Piped input runs too, without prompts; the exit code is then 1 if a cell failed.",
  ],
  own: {},
  shared: SESSION_FLAGS,
  examples: [
    { about: "explore the files of this folder", lines: [["repl", "-c", "."]] },
    { about: "continue a session", lines: [["repl", "--session", "demo"]] },
  ],
  common: ["context", "model", "session", "max-sub-calls", "max-cost-usd", "verbose", "quiet"],
} satisfies CommandWords;
