import type { Command, Host } from "../commands/define.ts";
import type { Arguments } from "../flags/arguments.ts";
import { type Completion, spellings } from "../flags/flag.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import { processTerminal } from "../render/terminal.ts";

type Commands = readonly Pick<Command, "name" | "summary" | "options" | "takes">[];

/** `belay completion`: prints the script of a shell, or what may stand where the user types. */
export async function completionCommand(
  args: Arguments,
  host: Host,
  _own: object,
  commands: Commands,
): Promise<number> {
  const [word = "", ...more] = args.positionals;
  if (word === "words") return print(offered(more, commands), args, host);
  const script = more.length === 0 ? SCRIPTS.get(word) : undefined;
  if (script === undefined) {
    const problem = word === "" ? "name a shell" : `there is no completion for ${[word, ...more].join(" ")}`;
    throw new UsageError(`${problem}: ${[...SCRIPTS.keys()].join(", ")}`, commandLine(["completion", "bash"]));
  }
  return say(script);
}

/** Words that may stand in a place, each with its explanation, or their kind. */
type Offered = Exclude<Completion, readonly string[]> | readonly (readonly [word: string, help: string])[];

/** Words that may stand in place of the last one. @param typed the words behind `belay` */
export function offered(typed: readonly string[], commands: Commands): Offered {
  const names = [
    ...commands.map(({ name, summary }) => [name, summary] as const),
    ["help", "explain a command"] as const,
  ];
  if (typed.length < 2) return [...names, ["--help", "explain belay"], ["--version", "print the version"]];
  const [first, previous = "", current = ""] = [typed[0], ...typed.slice(-2)];
  if (first === "help") return typed.length < 3 ? names : HELP_FLAGS;
  const command = commands.find(({ name }) => name === first);
  const options = command?.options ?? [];
  const flag = options.find((option) => spellings(option).includes(previous));
  const ofValue = flag?.type.completes ?? "nothing";
  if (ofValue !== "nothing") return listed(ofValue);
  if (!current.startsWith("-")) return listed(command?.takes?.completes ?? "nothing");
  const spelled = options.flatMap((option) => spellings(option).map((word) => [word, option.help] as const));
  return [...spelled, ["--help", "explain the command"]];
}

const HELP_FLAGS = [
  ["--all", "explain every option"],
  ["--json", "print one JSON object with everything"],
] as const;

const listed = (completion: Completion): Offered =>
  typeof completion === "string" ? completion : completion.map((word) => [word, ""]);

/** Stands for the paths of files, which the shell completes itself. No session has this name. */
const FILES = "/";

async function print(offer: Offered, args: Arguments, host: Host): Promise<number> {
  if (offer === "sessions") {
    // These alone need a store.
    const { printNames } = await import("../store/sessions.ts");
    return printNames(args, host);
  }
  const lines = typeof offer === "string" ? [] : offer.map(([word, help]) => `${word}${help && `\t${help}`}\n`);
  return say(offer === "files" ? `${FILES}\n` : lines.join(""));
}

function say(text: string): number {
  processTerminal(() => {}).stdout.writeRaw(text);
  return 0;
}

/**
 * The script that each shell runs once. It asks `belay completion words` for all that it offers.
 */
const SCRIPTS: ReadonlyMap<string, string> = new Map([
  [
    "bash",
    `# Completion of belay for bash. Put this line into ~/.bashrc: source <(belay completion bash)
_belay() {
  local current=\${COMP_WORDS[COMP_CWORD]} word
  COMPREPLY=()
  while IFS=$'\\t' read -r word _; do
    if [ "$word" = ${FILES} ]; then return; fi
    case $word in "$current"*) COMPREPLY+=("$(printf %q "$word")") ;; esac
  done < <(belay completion words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  compopt +o default 2>/dev/null
}
complete -o default -F _belay belay
`,
  ],
  [
    "zsh",
    `#compdef belay
# Completion of belay for zsh. Put this line into ~/.zshrc, after compinit: source <(belay completion zsh)
_belay() {
  local -a lines
  lines=(\${(f)"$(belay completion words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if [[ $lines == ${FILES} ]]; then _files; return; fi
  lines=("\${(@)\${(@)lines//:/\\\\:}/$'\\t'/:}")
  _describe word lines
}
if [ "$funcstack[1]" = _belay ]; then _belay "$@"; else compdef _belay belay; fi
`,
  ],
  [
    "fish",
    `# Completion of belay for fish. Run once: belay completion fish > ~/.config/fish/completions/belay.fish
function _belay
  set -l typed (commandline -opc) (commandline -ct)
  set -l lines (belay completion words -- $typed[2..-1] 2>/dev/null)
  if test "$lines" = ${FILES}
    __fish_complete_path (commandline -ct)
  else
    printf '%s\\n' $lines
  end
end
complete -c belay -f -a '(_belay)'
`,
  ],
]);
