import type { Command } from "../commands/index.ts";
import type { Option } from "../flags/arguments.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;

type Commands = readonly Pick<Command, "name" | "summary" | "options">[];

/** What a shell runs once, so that it completes lines of `belay`: commands, their options, files and names of sessions. */
export function completionScript(shell: (typeof SHELLS)[number], commands: Commands): string {
  return { bash, zsh, fish }[shell](commands);
}

/** Commands whose arguments are names of sessions, or files. */
const OF_SESSIONS = ["resume", "show", "fork", "rm"];
const OF_FILES = ["exec"];

/** What can follow an option. */
function valuesOf({ name, value }: Option): "none" | "files" | "sessions" | "any" | readonly string[] {
  if (!value) return "none";
  if (name === "session") return "sessions";
  if (["PATH", "DIR", "FILE"].includes(value)) return "files";
  return value.includes("|") ? value.split("|") : "any";
}

const spellings = ({ name, short }: Option) => [...(short ? [`-${short}`] : []), `--${name}`];

/** Every option once, of all commands. */
function optionsOf(commands: Commands): readonly Option[] {
  return [...new Map(commands.flatMap(({ options }) => options.map((option) => [option.name, option]))).values()];
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** Options by what follows them, as the alternatives of a `case`. */
function patterns(commands: Commands, kind: ReturnType<typeof valuesOf>): string {
  return optionsOf(commands)
    .filter((option) => valuesOf(option) === kind)
    .flatMap(spellings)
    .join("|");
}

function choices(commands: Commands): { readonly option: Option; readonly words: readonly string[] }[] {
  return optionsOf(commands).flatMap((option) => {
    const words = valuesOf(option);
    return typeof words === "string" ? [] : [{ option, words }];
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
  .map(({ option, words: list }) => `    ${spellings(option).join("|")}) ${words(list)}; return ;;`)
  .join("\n")}
    ${patterns(commands, "any")}) compopt +o default 2>/dev/null; return ;;
  esac
  case $current in
    -*)
      case $command in
${commands.map(({ name, options }) => `        ${name}) ${words([...options.flatMap(spellings), "--help"])} ;;`).join("\n")}
      esac
      return ;;
  esac
  case $command in
    ${OF_SESSIONS.join("|")}) _belay_sessions ;;
    ${OF_FILES.join("|")}) return ;;
    help) ${words(namesOf(commands))} ;;
    completion) ${words(SHELLS)} ;;
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
    described(options.flatMap((option) => spellings(option).map((word) => [word, option.summary] as const)));
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
  .map(({ option, words }) => `    ${spellings(option).join("|")}) compadd ${words.join(" ")}; return ;;`)
  .join("\n")}
    ${patterns(commands, "any")}) return ;;
  esac
  if [[ $PREFIX == -* ]]; then
    case $command in
${commands.map((command) => `      ${command.name}) flags=(${flags(command)}) ;;`).join("\n")}
    esac
    _describe option flags
    return
  fi
  case $command in
    ${OF_SESSIONS.join("|")}) _belay_sessions ;;
    ${OF_FILES.join("|")}) _files ;;
    help) _describe command commands ;;
    completion) compadd ${SHELLS.join(" ")} ;;
  esac
}
if [ "$funcstack[1]" = _belay ]; then _belay "$@"; else compdef _belay belay; fi
`;
}

function fish(commands: Commands): string {
  const within = (names: readonly string[]) => `-n '__fish_seen_subcommand_from ${names.join(" ")}'`;
  const argument = (option: Option) => {
    const values = valuesOf(option);
    if (values === "none") return "";
    if (values === "files") return " -r -F";
    if (values === "sessions") return " -x -a '(belay completion sessions 2>/dev/null)'";
    return values === "any" ? " -x" : ` -x -a ${quoted(values.join(" "))}`;
  };
  const flags = commands.flatMap(({ name, options }) =>
    options.map((option) => {
      const short = option.short ? ` -s ${option.short}` : "";
      return `complete -c belay ${within([name])} -l ${option.name}${short}${argument(option)} -d ${quoted(option.summary)}`;
    }),
  );
  const first = [
    ...commands.map(({ name, summary }) => [name, summary] as const),
    ["help", "explain a command"] as const,
  ];
  return `# Completion of belay for fish. Run once: belay completion fish > ~/.config/fish/completions/belay.fish
complete -c belay -f
${first.map(([name, text]) => `complete -c belay -n __fish_use_subcommand -a ${name} -d ${quoted(text)}`).join("\n")}
complete -c belay ${within(OF_SESSIONS)} -a '(belay completion sessions 2>/dev/null)'
complete -c belay ${within(OF_FILES)} -F
complete -c belay ${within(["completion"])} -a ${quoted(SHELLS.join(" "))}
complete -c belay ${within(["help"])} -a ${quoted(namesOf(commands).join(" "))}
${flags.join("\n")}
`;
}
