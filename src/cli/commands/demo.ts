import type { Given } from "../flags/arguments.ts";
import { OUTPUT_FLAGS } from "../flags/declared.ts";
import { toggle, under } from "../flags/flag.ts";
import type { CommandWords } from "./define.ts";

const OWN = under("output", {
  ask: { type: toggle, help: "watch a scripted model answer a question by writing cells, instead" },
});

export type DemoFlags = Given<typeof OWN>;

export const demo = {
  name: "demo",
  summary: "watch it explore, ask, be killed with kill -9 and resume, in a few seconds and without a key",
  details: [
    "Twelve short letters are in a temporary folder, with a separate store; both are removed afterwards. Real processes run: one is killed by SIGKILL while its sub-calls are in flight, and another resumes it. The model is scripted: a server in this process that matches words.",
  ],
  own: OWN,
  shared: [{ ...OUTPUT_FLAGS.json, help: "print one JSON object with what was counted" }],
  examples: [{ lines: [["demo"]] }],
} satisfies CommandWords;
