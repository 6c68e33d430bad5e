import type { Answers } from "./exec.ts";

/** The flag to pass, for whoever makes a sub-call without a model. */
export const NO_MODEL =
  "Name a model: `--model PROVIDER/ID` on the command line (with `--base-url URL` for a server of your own), `model` in the library's options.";

/** Answers of a session without a model: cells are refused at the call. */
export function withoutModel(): Answers {
  return {
    facts: { no_model: NO_MODEL },
    answer: async (call) => {
      throw new Error(`nothing answers ${call.name}`);
    },
  };
}
