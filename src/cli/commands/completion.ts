import { NAMED_FLAGS } from "../flags/declared.ts";
import type { CommandWords } from "./define.ts";

const SHELLS = ["bash", "zsh", "fish"];

export const completion = {
  name: "completion",
  summary: "print a script with which a shell completes commands, options and names of sessions",
  details: [
    "For bash put `source <(belay completion bash)` into ~/.bashrc, for zsh `source <(belay completion zsh)` into ~/.zshrc after compinit. For fish run `belay completion fish > ~/.config/fish/completions/belay.fish` once.",
    "`belay completion words -- WORDS` prints completions of the last word, one per line: the shell calls it while you type.",
  ],
  takes: { usage: SHELLS.join("|"), completes: SHELLS },
  own: {},
  shared: [NAMED_FLAGS.store],
  examples: [{ lines: [["completion", "bash"]] }],
} satisfies CommandWords;
