import { JSON_OUTPUT, STORE } from "../flags/declared.ts";
import type { CommandWords } from "./define.ts";

export const doctor = {
  name: "doctor",
  summary: "check Node, the engine, SQLite, settings and the store, and suggest fixes",
  details: ["Exit code 1 if a check failed; a warning does not count. Every row of the store is read."],
  own: {},
  shared: [{ ...JSON_OUTPUT, help: "print one JSON object with all checks" }, STORE],
  example: "belay doctor",
} satisfies CommandWords;
