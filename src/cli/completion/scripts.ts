import type { Command } from "../commands/define.ts";
import { type Completion, type Flag, spellings } from "../flags/flag.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;

type Commands = readonly Pick<Command, "name" | "summary" | "options" | "takes">[];

/** What a shell runs once, so that it completes lines of `belay`: commands, their options, files and names of sessions. */
export function completionScript(shell: (typeof SHELLS)[number], commands: Commands): string {
  return { bash, zsh, fish }[shell](commands);
}

/** Names of the commands whose arguments are completed in this way. */
function taking(commands: Commands, completes: Completion): string[] {
  return commands.filter(({ takes }) => takes?.completes === completes).map(({ name }) => name);
}

/** Commands whose argument is one of some words. */
function takingWords(commands: Commands): { readonly name: string; readonly words: readonly string[] }[] {
  return commands.flatMap(({ name, takes }) => {
    const completes = takes?.completes;
    return typeof completes === "object" ? [{ name, words: completes }] : [];
  });
}

/** Every flag once, of all commands. */
function flagsOf(commands: Commands): readonly Flag[] {
  return [...new Map(commands.flatMap(({ options }) => options.map((flag) => [flag.name, flag]))).values()];
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** Options by what follows them, as the alternatives of a `case`. */
function patterns(commands: Commands, completes: Completion): string {
  return flagsOf(commands)
    .filter(({ type }) => type.completes === completes)
    .flatMap(spellings)
    .join("|");
}

function choices(commands: Commands): { readonly flag: Flag; readonly words: readonly string[] }[] {
  return flagsOf(commands).flatMap((flag) => {
    const words = flag.type.completes;
    return typeof words === "string" ? [] : [{ flag, words }];
  });
}

const namesOf = (commands: Commands) => [...commands.map(({ name }) => name), "help"];

function bash(commands: Commands): string {
  const words = (list: readonly string[]) => `COMPREPLY=($(compgen -W ${quoted(list.join(" "))} -- "$current"))`;
  return `# Completion of belay for bash. Put this line into ~/.bashrc: source <(belay completion bash)
_belay_sessions() {
  local name
  while IFS= read -r name; do
    case $name in "$current"*) COMPREPLY+=("$(printf %q "$name")") ;; esac
  done < <(belay completion sessions 2>/dev/null)
}
_belay() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} command=\${COMP_WORDS[1]}
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    ${words([...namesOf(commands), "--help", "--version"])}
    return
  fi
  case $previous in
    ${patterns(commands, "sessions")}) _belay_sessions; return ;;
    ${patterns(commands, "files")}) return ;;
${choices(commands)
  .map(({ flag, words: list }) => `    ${spellings(flag).join("|")}) ${words(list)}; return ;;`)
  .join("\n")}
    ${patterns(commands, "anything")}) compopt +o default 2>/dev/null; return ;;
  esac
  case $current in
    -*)
      case $command in
${commands.map(({ name, options }) => `        ${name}) ${words([...options.flatMap(spellings), "--help"])} ;;`).join("\n")}
      esac
      return ;;
  esac
  case $command in
    ${taking(commands, "sessions").join("|")}) _belay_sessions ;;
    ${taking(commands, "files").join("|")}) return ;;
    help) ${words(namesOf(commands))} ;;
${takingWords(commands)
  .map(({ name, words: list }) => `    ${name}) ${words(list)} ;;`)
  .join("\n")}
  esac
  compopt +o default 2>/dev/null
}
complete -o default -F _belay belay
`;
}

function zsh(commands: Commands): string {
  const described = (list: readonly (readonly [string, string])[]) =>
    list.map(([word, text]) => quoted(`${word.replaceAll(":", "\\:")}:${text}`)).join(" ");
  const flags = ({ options }: Pick<Command, "options">) =>
    described(options.flatMap((flag) => spellings(flag).map((word) => [word, flag.help] as const)));
  return `#compdef belay
# Completion of belay for zsh. Put this line into ~/.zshrc, after compinit: source <(belay completion zsh)
_belay_sessions() {
  local -a names
  names=(\${(f)"$(belay completion sessions 2>/dev/null)"})
  compadd -a names
}
_belay() {
  local previous=\${words[CURRENT-1]} command=\${words[2]}
  local -a commands flags
  commands=(${described([...commands.map(({ name, summary }) => [name, summary] as const), ["help", "explain a command"]])})
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case $previous in
    ${patterns(commands, "sessions")}) _belay_sessions; return ;;
    ${patterns(commands, "files")}) _files; return ;;
${choices(commands)
  .map(({ flag, words }) => `    ${spellings(flag).join("|")}) compadd ${words.join(" ")}; return ;;`)
  .join("\n")}
    ${patterns(commands, "anything")}) return ;;
  esac
  if [[ $PREFIX == -* ]]; then
    case $command in
${commands.map((command) => `      ${command.name}) flags=(${flags(command)}) ;;`).join("\n")}
    esac
    _describe option flags
    return
  fi
  case $command in
    ${taking(commands, "sessions").join("|")}) _belay_sessions ;;
    ${taking(commands, "files").join("|")}) _files ;;
    help) _describe command commands ;;
${takingWords(commands)
  .map(({ name, words }) => `    ${name}) compadd ${words.join(" ")} ;;`)
  .join("\n")}
  esac
}
if [ "$funcstack[1]" = _belay ]; then _belay "$@"; else compdef _belay belay; fi
`;
}

function fish(commands: Commands): string {
  const within = (names: readonly string[]) => `-n '__fish_seen_subcommand_from ${names.join(" ")}'`;
  const argument = ({ type: { completes } }: Flag) => {
    if (completes === "nothing") return "";
    if (completes === "files") return " -r -F";
    if (completes === "sessions") return " -x -a '(belay completion sessions 2>/dev/null)'";
    return completes === "anything" ? " -x" : ` -x -a ${quoted(completes.join(" "))}`;
  };
  const flags = commands.flatMap(({ name, options }) =>
    options.map((flag) => {
      const short = flag.short ? ` -s ${flag.short}` : "";
      return `complete -c belay ${within([name])} -l ${flag.name}${short}${argument(flag)} -d ${quoted(flag.help)}`;
    }),
  );
  const first = [
    ...commands.map(({ name, summary }) => [name, summary] as const),
    ["help", "explain a command"] as const,
  ];
  return `# Completion of belay for fish. Run once: belay completion fish > ~/.config/fish/completions/belay.fish
complete -c belay -f
${first.map(([name, text]) => `complete -c belay -n __fish_use_subcommand -a ${name} -d ${quoted(text)}`).join("\n")}
complete -c belay ${within(taking(commands, "sessions"))} -a '(belay completion sessions 2>/dev/null)'
complete -c belay ${within(taking(commands, "files"))} -F
${takingWords(commands)
  .map(({ name, words }) => `complete -c belay ${within([name])} -a ${quoted(words.join(" "))}`)
  .join("\n")}
complete -c belay ${within(["help"])} -a ${quoted(namesOf(commands).join(" "))}
${flags.join("\n")}
`;
}
