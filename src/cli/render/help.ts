import { version } from "../../platform/version.ts";
import { KEYS } from "../../settings/index.ts";
import type { Command, Example } from "../commands/define.ts";
import { COMMANDS } from "../commands/index.ts";
import { type Flag, HEADINGS, valueForm } from "../flags/flag.ts";
import { commandLine } from "../flags/usage.ts";
import { paragraph, wrap } from "./table.ts";

/** Longer lines are hard to read, however wide the terminal is. */
const WIDEST = 100;
const NARROWEST = 40;

/**
 * The columns that help is wrapped at: those of the terminal, within reason; 100 in a file or pipe.
 */
export function helpWidth({ isTTY, columns }: Pick<NodeJS.WriteStream, "isTTY" | "columns">): number {
  return isTTY && columns > 0 ? Math.min(WIDEST, Math.max(NARROWEST, columns)) : WIDEST;
}

/** The help of `belay` itself: every command with an example. */
export function help(width = WIDEST, platform = process.platform): string {
  return `${paragraph(`belay ${version()}: explore a large context with JavaScript, in a sandbox`, width)}

usage: belay COMMAND [ARGUMENT]...

${COMMANDS.map(({ name, summary, examples: [example] }) => [hanging(name, summary, 12, width), ...typed(example, 14, platform)].join("\n")).join("\n")}

  help COMMAND, --help, --version
              $ belay help exec

${paragraph("A cell is JavaScript, or TypeScript, whose types are stripped. It sees the context as the string P and reads it with peek, find, search and list_docs; there are no files, no network and no modules. It answers with its last expression, or with what it assigns to `result`.", width)}

exit codes
${EXIT_CODES.map(([codes, meaning]) => hanging(codes, meaning, 7, width)).join("\n")}

sessions
${paragraph("Every cell and sub-call is recorded before anything depends on it. What a Ctrl-C, a crash or a closed terminal interrupts is continued by `belay resume`, and no answer that is recorded is requested again. --session NAME keeps a session for later commands.", width)}

settings
${paragraph(`Flags go before environment variables (BELAY_MODEL, BELAY_MAX_SUB_CALLS, ...), these before belay.config.json in this folder or above it in its repository, and this before ~/.belay/config.json. A file is a JSON object, such as { "model": "anthropic/claude-sonnet-5" }. Keys: ${KEYS.join(", ")}.`, width)}
${paragraph("A project's file may choose the model and lower limits; the rest is for your own file, variables and flags.", width)}

environment
${ENVIRONMENT.map(([name, meaning]) => hanging(name, meaning, 14, width)).join("\n")}
`;
}

const EXIT_CODES = [
  ["0", "success"],
  ["1", "a cell, a load or a setting failed"],
  ["2", "wrong usage"],
  ["3", "it finished without all that was asked for: a warning says what was left out, and which flag changes it"],
  ["4", "only a provider batch (--delivery batch) is pending: the same line, or belay resume, continues"],
  ["129", "ended by SIGHUP: the terminal was closed"],
  ["130", "ended by SIGINT: Ctrl-C"],
  ["143", "ended by SIGTERM: kill"],
] as const;

const ENVIRONMENT = [
  ["BELAY_STORE", "folder or URL (postgres://…) that keeps sessions, if --store does not name it"],
  ["BELAY_HOME", "folder of sessions, config.json, search indexes and the REPL's history (default ~/.belay)"],
  ["NO_COLOR", "no colours on a terminal"],
] as const;

/** A word and what it means, the lines of which stand under each other. */
function hanging(word: string, text: string, margin: number, width: number): string {
  const lines = wrap(text.split(" "), width - margin);
  const lead = `  ${word}`;
  // A word that reaches into the text has a line of its own.
  const first = lead.length + 2 <= margin ? lead.padEnd(margin) : `${lead}\n${" ".repeat(margin)}`;
  return first + lines.join(`\n${" ".repeat(margin)}`);
}

/** The lines of an example, each behind a prompt. */
function typed({ lines }: Example, indent: number, platform: NodeJS.Platform): string[] {
  return lines.map((words) => `${" ".repeat(indent)}$ ${commandLine(words, platform)}`);
}

/** The help of one command: of one with many options those that most people need, and the way to all. */
export function commandHelp(command: Command, width = WIDEST, platform = process.platform): string {
  const { name, details, options, common } = command;
  if (common === undefined) return wholeHelp(command, width, platform);
  const shown = options.filter((option) => common.includes(option.name));
  const more = `These are ${shown.length} of ${options.length} options. All of them, with what is printed, kept and limited:`;
  return `${head({ ...command, options: shown }, true, width)}

${paragraph(details[0] ?? "", width)}

${examplesOf(command, width, platform)}

${optionsHelp(shown, width)}

${paragraph(more, width)}
  $ ${commandLine(["help", name, "--all"])}
`;
}

/** The help of one command with every option and paragraph. */
export function wholeHelp(command: Command, width = WIDEST, platform = process.platform): string {
  return `${head(command, command.options.length > WITHOUT_HEADINGS, width)}

${command.details.map((text) => paragraph(text, width)).join("\n\n")}

${optionsHelp(command.options, width)}

${examplesOf(command, width, platform)}
`;
}

/** The help of one command as data, for programs. */
export function helpJson({ name, summary, details, takes, options, examples }: Command, platform = process.platform) {
  return {
    name,
    summary,
    takes: takes?.usage ?? null,
    details,
    options: options.map(({ name, short, type, help, heading, excludes = [], needs = [] }) => ({
      name: `--${name}`,
      short: short === undefined ? null : `-${short}`,
      value: type.word,
      repeats: type.isList === true,
      help,
      heading: heading ?? null,
      excludes,
      needs,
    })),
    examples: examples.map(({ about = null, lines }) => ({
      about,
      lines: lines.map((words) => commandLine(words, platform)),
    })),
  };
}

function head(command: Command, isPart: boolean, width: number): string {
  return `${paragraph(`belay ${command.name}: ${command.summary}`, width)}\n\n${usageLine(command, isPart, width)}`;
}

function examplesOf({ examples }: Command, width: number, platform: NodeJS.Platform): string {
  const lines = examples.flatMap((example) => {
    if (example.about === undefined) return typed(example, 2, platform);
    return [`  ${wrap(`${example.about}:`.split(" "), width - 2).join("\n  ")}`, ...typed(example, 4, platform)];
  });
  return [examples.length > 1 ? "examples" : "example", ...lines].join("\n");
}

function optionsHelp(options: readonly Flag[], width: number): string {
  return sections(options)
    .map(({ heading, flags }) => `${heading}\n${flags.map((flag) => flagHelp(flag, width)).join("\n")}`)
    .join("\n\n");
}

/** The number of options that people can read without headings. */
const WITHOUT_HEADINGS = 10;

/** The options as help lists them: a long list under headings. */
function sections(options: readonly Flag[]): { readonly heading: string; readonly flags: readonly Flag[] }[] {
  if (options.length <= WITHOUT_HEADINGS) return [{ heading: "options", flags: options }];
  const groups = HEADINGS.map((heading) => ({ heading, flags: options.filter((flag) => flag.heading === heading) }));
  const own = { heading: "other options", flags: options.filter(({ heading }) => heading === undefined) };
  return [...groups, own].filter(({ flags }) => flags.length > 0);
}

/**
 * `usage: belay exec …`, wrapped under its first argument; on a narrow terminal the arguments begin
 * on the next line.
 */
function usageLine({ name, takes, options }: Command, isPart: boolean, width: number): string {
  const lead = `usage: belay ${name} `;
  const first = takes?.usage ?? "";
  // An option that the command cannot do without stands there already.
  const others = usageOf(options, isPart).filter((word) => !first.includes(word.slice(1, -1)));
  const words = first === "" ? others : [first, ...others];
  if (width < NARROW) return `${lead.trimEnd()}\n  ${wrap(words, width - 2).join("\n  ")}`;
  return lead + wrap(words, width - lead.length).join(`\n${" ".repeat(lead.length)}`);
}

/** Options in the usage line: each one of a short list, of others those of input and output. */
function usageOf(options: readonly Flag[], isPart: boolean): string[] {
  const shown = isPart ? options.filter(({ heading }) => heading === "input" || heading === "output") : options;
  const alternatives = shown.flatMap(({ excludes = [] }) => (excludes.length === 1 ? excludes : []));
  const words = shown
    .filter(({ name }) => !alternatives.includes(name))
    .map((flag) => {
      const [other] = shown.filter(({ name }) => flag.excludes?.length === 1 && flag.excludes.includes(name));
      return `[${[flag, ...(other ? [other] : [])].map(shortest).join(" | ")}]${flag.type.isList ? "..." : ""}`;
    });
  return isPart ? [...words, "[OPTION]..."] : words;
}

const shortest = ({ name, short, type }: Flag) => `${short ? `-${short}` : `--${name}`}${valueForm(type)}`;

/**
 * The column in which the texts of options begin; on a narrow terminal they are under their
 * options.
 */
const MARGIN = 30;
const NARROW_MARGIN = 8;
const NARROW = 70;

function flagHelp({ name, short, type, help }: Flag, width: number): string {
  const spelling = `${short ? `-${short}, ` : "    "}--${name}${valueForm(type)}`;
  const text = type.isList ? `${help} (may be repeated)` : help;
  return hanging(spelling, text, width < NARROW ? NARROW_MARGIN : MARGIN, width);
}
