import { version } from "../../platform/version.ts";
import { KEYS } from "../../settings/index.ts";
import type { Command } from "../commands/define.ts";
import { COMMANDS } from "../commands/index.ts";
import { type Flag, HEADINGS, valueForm } from "../flags/flag.ts";
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

${COMMANDS.map(({ name, summary, example }) => `${hanging(name, summary, 12, width)}\n              $ ${example}`).join("\n")}

  help COMMAND, --help, --version
              $ belay help exec
${platform === "win32" ? `\n${paragraph(`Examples are for ${SHELL}: PowerShell and cmd have other quotes.`, width)}\n` : ""}
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
  ["4", "only a provider's batch is pending: the same line, or belay resume, continues"],
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

/** The shell that examples are for, where it is not the usual one. */
const SHELL = "a POSIX shell, such as Git Bash";

/** The help of one command, with its options. */
export function commandHelp(command: Command, width = WIDEST, platform = process.platform): string {
  const { name, summary, details, options, example } = command;
  return `${paragraph(`belay ${name}: ${summary}`, width)}

${usageLine(command, width)}

${details.map((text) => paragraph(text, width)).join("\n\n")}

${sections(options)
  .map(({ heading, flags }) => `${heading}\n${flags.map((flag) => flagHelp(flag, width)).join("\n")}`)
  .join("\n\n")}

example${platform === "win32" ? `, for ${SHELL}` : ""}
  $ ${example}
`;
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
function usageLine({ name, takes, options }: Command, width: number): string {
  const lead = `usage: belay ${name} `;
  const first = takes?.usage ?? "";
  // An option that the command cannot do without stands there already.
  const others = usageOf(options).filter((word) => !first.includes(word.slice(1, -1)));
  const words = first === "" ? others : [first, ...others];
  if (width < NARROW) return `${lead.trimEnd()}\n  ${wrap(words, width - 2).join("\n  ")}`;
  return lead + wrap(words, width - lead.length).join(`\n${" ".repeat(lead.length)}`);
}

/** Options in the usage line: each one of a short list, of a long one those of input and output. */
function usageOf(options: readonly Flag[]): string[] {
  const isLong = options.length > WITHOUT_HEADINGS;
  const shown = isLong ? options.filter(({ heading }) => heading === "input" || heading === "output") : options;
  const alternatives = shown.flatMap(({ excludes = [] }) => (excludes.length === 1 ? excludes : []));
  const words = shown
    .filter(({ name }) => !alternatives.includes(name))
    .map((flag) => {
      const [other] = shown.filter(({ name }) => flag.excludes?.length === 1 && flag.excludes.includes(name));
      return `[${[flag, ...(other ? [other] : [])].map(shortest).join(" | ")}]${flag.type.isList ? "..." : ""}`;
    });
  return isLong ? [...words, "[OPTION]..."] : words;
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
