import { existsSync } from "node:fs";
import { RlmError } from "../../runtime/index.ts";
import { nearest } from "../nearest.ts";
import { COMMANDS, type Command } from "./commands/index.ts";
import { type Arguments, parseArguments } from "./flags/arguments.ts";
import { commandLine, UsageError } from "./flags/usage.ts";
import { type Host, processHost } from "./host.ts";
import { commandHelp, help, helpWidth } from "./render/help.ts";
import { inFlags } from "./render/wording.ts";
import { version } from "./version.ts";

/** Runs `belay` with these arguments. Gives the exit code: `belay --help` lists them. */
export async function run(args: readonly string[], host: Host = processHost): Promise<number> {
  const [first = "--help", ...rest] = args;
  let command: Command | undefined;
  try {
    const width = helpWidth(process.stdout);
    if (VERSION.includes(first)) return say(`belay ${version()}\n`);
    if (first === "--help" || first === "-h") return say(help(width));
    if (first === "help")
      return say(rest[0] === undefined ? help(width) : commandHelp(commandNamed(rest[0], ["help"], rest), width));
    command = commandNamed(first, [], args);
    if (rest.includes("--help") || rest.includes("-h")) return say(commandHelp(command, width));
    return await command.run(checked(command, rest), host);
  } catch (error) {
    if (!(error instanceof UsageError)) return unexpected(error);
    const name = command ? `belay ${command.name}` : "belay";
    process.stderr.write(`${name}: ${error.message}\ntry: ${error.line}\n`);
    return 2;
  }
}

const VERSION = ["--version", "-V", "-v"];

function say(text: string): number {
  // `belay --help | head -1` closes the pipe early.
  process.stdout.on("error", () => {});
  process.stdout.write(text);
  return 0;
}

function commandNamed(name: string, before: readonly string[], args: readonly string[]): Command {
  const found = COMMANDS.find((command) => command.name === name);
  if (found) return found;
  if (name.startsWith("-")) {
    throw new UsageError(`options come after the command; ${name} is none of belay itself`, "belay --help");
  }
  if (existsSync(name)) {
    throw new UsageError(`${name} is no command; cells are run by exec`, commandLine(["exec", ...args]));
  }
  const meant = nearest(name, [...COMMANDS.map((command) => command.name), "help"]);
  if (!meant) throw new UsageError(`unknown command ${name}`, "belay --help");
  throw new UsageError(
    `unknown command ${name}; did you mean ${meant}?`,
    commandLine([...before, meant, ...args.slice(1)]),
  );
}

function checked(command: Command, args: readonly string[]): Arguments {
  const parsed = parseArguments(command.name, command.options, args);
  const superfluous = command.positionals ? undefined : parsed.inOrder.find(({ option }) => option === null);
  if (!superfluous) return parsed;
  const isPath = command.options.some(({ name }) => name === "context") && existsSync(superfluous.value);
  throw new UsageError(
    `${command.name} takes no argument ${superfluous.value}`,
    isPath ? commandLine([command.name, "-c", superfluous.value]) : commandLine(["help", command.name]),
  );
}

/** What no user can have caused; the stack only where it was asked for. */
function unexpected(error: unknown): number {
  const known = error instanceof RlmError ? `${error.message}\nsuggestion: ${inFlags(error.suggestion)}` : undefined;
  const stack = error instanceof Error && process.env.BELAY_DEBUG ? error.stack : undefined;
  const hint = "set BELAY_DEBUG=1 to see where; `belay doctor` checks the installation";
  process.stderr.write(`belay: ${known ?? stack ?? `${String(error)}\n${hint}`}\n`);
  return 1;
}
