import { SHELLS } from "../completion/scripts.ts";
import { STORE } from "../flags/declared.ts";
import { defineCommand } from "./define.ts";

export const completion = defineCommand({
  name: "completion",
  summary: "print what makes a shell complete commands, options and names of sessions",
  details: [
    "For bash put `source <(belay completion bash)` into ~/.bashrc, for zsh `source <(belay completion zsh)` into ~/.zshrc after compinit. For fish run `belay completion fish > ~/.config/fish/completions/belay.fish` once.",
    "`belay completion sessions` prints the names of sessions, one a line: the shell asks it while you type.",
  ],
  takes: { usage: SHELLS.join("|"), completes: SHELLS },
  own: {},
  shared: [STORE],
  example: "belay completion bash",
  run: async () => (await import("../completion/completion.ts")).completionCommand,
});
