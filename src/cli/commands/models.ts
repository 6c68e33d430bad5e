import type { Given } from "../flags/arguments.ts";
import { MODEL_SERVER, OUTPUT_FLAGS } from "../flags/declared.ts";
import { flags, text, toggle } from "../flags/flag.ts";
import type { CommandWords } from "./define.ts";

const OWN = flags({
  all: { type: toggle, help: "also list those of providers without a key" },
  refresh: {
    type: toggle,
    help: "first fetch newer lists of the providers with a key, from pi.dev or from --from; nothing else is sent there",
  },
  from: { type: text("URL"), needs: ["refresh"], help: "download the lists from this server" },
});

export type ModelsFlags = Given<typeof OWN>;

export const models = {
  name: "models",
  summary: "list models with their windows and prices, and whether there is a key",
  details: [
    "WORDS filter: every word must be part of the name. Without them only providers with a key are listed. With --base-url the server is asked for its list. A model that no list has can still be named, if its provider is known.",
  ],
  takes: { usage: "[WORD]...", completes: "anything" },
  own: OWN,
  shared: [...MODEL_SERVER, { ...OUTPUT_FLAGS.json, help: "print one JSON object with all models that fit" }],
  examples: [{ lines: [["models", "sonnet"]] }],
} satisfies CommandWords;
