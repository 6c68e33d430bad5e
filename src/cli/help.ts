import { KEYS } from "../config/config.ts";
import type { Option } from "./arguments.ts";
import { COMMANDS, type Command } from "./commands.ts";
import { version } from "./version.ts";
import { paragraph, wrap } from "./wrap.ts";

const WIDTH = 100;

/** The help of `belay` itself: every command with an example. */
export function help(): string {
  const commands = COMMANDS.map(
    ({ name, summary, example }) => `  ${name.padEnd(10)}${summary}\n              $ ${example}`,
  );
  return `belay ${version()}: explore a context of up to 100 MB with JavaScript, in a sandbox

usage: belay COMMAND [ARGUMENT]...

${commands.join("\n")}

  help COMMAND, --help, --version
              $ belay help exec

${paragraph(
  "A cell is JavaScript. It sees the context as the string P and reads it with peek, find, search and list_docs; there are no files, no network and no modules. It answers with its last expression, or with what it assigns to `result`.",
  WIDTH,
)}

exit codes
  0 success   1 a cell, a load or a setting failed   2 wrong usage   130 interrupted by Ctrl-C

sessions
${paragraph(
  "Every cell and sub-call is recorded before anything depends on it. What a Ctrl-C, a crash or a closed terminal interrupts is continued by `belay resume`, and no sub-call that was answered is sent again. --session NAME keeps a session for later commands.",
  WIDTH,
)}

settings
${paragraph(
  `Flags go before environment variables (BELAY_MODEL, BELAY_MAX_SUB_CALLS, ...), these before belay.config.json in this folder or above it in its repository, and this before ~/.belay/config.json. A file is a JSON object, such as { "model": "anthropic/claude-sonnet-4-5" }. Keys: ${KEYS.join(", ")}.`,
  WIDTH,
)}
${paragraph(
  "A project's file may choose the model and lower limits; the rest is for your own file, variables and flags.",
  WIDTH,
)}

environment
  BELAY_HOME  folder of sessions, config.json, search indexes and the REPL's history (default ~/.belay)
  NO_COLOR    no colours on a terminal
`;
}

/** The help of one command, with its options. */
export function commandHelp({ name, usage, summary, details, options, example }: Command): string {
  return `belay ${name}: ${summary}

${usageLine({ name, usage })}

${details.map((text) => paragraph(text, WIDTH)).join("\n\n")}

options
${options.map(optionHelp).join("\n")}

example
  $ ${example}
`;
}

/** `usage: belay exec …`, wrapped under its first argument. */
function usageLine({ name, usage }: Pick<Command, "name" | "usage">): string {
  const lead = `usage: belay ${name} `;
  const words = usage.match(/\[[^\]]*\]\S*|\S+/g) ?? [];
  return lead + wrap(words, WIDTH - lead.length).join(`\n${" ".repeat(lead.length)}`);
}

const MARGIN = 26;

function optionHelp({ name, short, value, summary, repeatable }: Option): string {
  const spelling = `${short ? `-${short}, ` : "    "}--${name}${value ? ` ${value}` : ""}`;
  const text = repeatable ? `${summary} (may be repeated)` : summary;
  const lines = wrap(text.split(" "), WIDTH - MARGIN - 4);
  return `  ${spelling.padEnd(MARGIN)}  ${lines.join(`\n${" ".repeat(MARGIN + 4)}`)}`;
}
