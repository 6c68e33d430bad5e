import { NAMED_FLAGS, OUTPUT_FLAGS } from "../flags/declared.ts";
import type { CommandWords } from "./define.ts";

export const doctor = {
  name: "doctor",
  summary: "check Node, the engine, SQLite, settings, agents and the store, and suggest fixes",
  details: ["Exit code 1 if a check failed; a warning does not count. Every row of the store is read."],
  own: {},
  shared: [{ ...OUTPUT_FLAGS.json, help: "print one JSON object with all checks" }, NAMED_FLAGS.store],
  examples: [{ lines: [["doctor"]] }],
} satisfies CommandWords;
