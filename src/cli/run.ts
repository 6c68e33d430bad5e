import { existsSync } from "node:fs";
import { nearest } from "../platform/nearest.ts";
import { version } from "../platform/version.ts";
import { inLine, visible } from "../platform/visible.ts";
import { hasSecret, isServer, withoutPasswords } from "../store/store-place.ts";
import type { Command } from "./commands/define.ts";
import { type Host, processHost } from "./commands/define.ts";
import { type Arguments, parseArguments } from "./flags/arguments.ts";
import { commandLine, UsageError } from "./flags/usage.ts";

/** Runs `belay` with these arguments. Gives the exit code: `belay --help` lists them. */
export async function run(args: readonly string[], host: Host = processHost): Promise<number> {
  const [first = "--help"] = args;
  if (VERSION.includes(first)) return say(`belay ${version()}\n`);
  let command: Command | undefined;
  try {
    if (HELP.includes(first)) return await sayHelp(args.slice(1));
    command = await commandNamed(first, [], args);
    const rest = args.slice(1);
    const options = rest.includes("--") ? rest.slice(0, rest.indexOf("--")) : rest;
    if (options.includes("--help") || options.includes("-h")) {
      return await sayHelp([command.name, ...(options.includes("--all") ? ["--all"] : [])]);
    }
    const parsed = await checked(command, rest);
    await tellOfSecret(parsed);
    return await command.run(parsed, host, await allCommands());
  } catch (error) {
    if (!(error instanceof UsageError)) return unexpected(error);
    const name = command ? `belay ${command.name}` : "belay";
    process.stderr.write(`${name}: ${inLine(error.message)}\ntry: ${inLine(error.tryThis)}\n`);
    return 2;
  }
}

const VERSION = ["--version", "-V", "-v"];
const HELP = ["help", "--help", "-h"];

/** @param asked the command that is to be explained, if there is one, and how */
async function sayHelp(asked: readonly string[]): Promise<number> {
  const { commandHelp, help, helpJson, helpWidth, wholeHelp } = await import("./render/help.ts");
  const width = helpWidth(process.stdout);
  const [name, ...rest] = asked.toSorted((a, b) => Number(a.startsWith("-")) - Number(b.startsWith("-")));
  if (name === undefined || name.startsWith("-")) return say(help(width));
  const command = await commandNamed(name, ["help"], [name, ...rest]);
  const other = rest.find((word) => word !== "--all" && word !== "--json" && !HELP.includes(word));
  if (other !== undefined) {
    throw new UsageError(`help takes a command, --all and --json, and no ${other}`, commandLine(["help", name]));
  }
  if (rest.includes("--json")) return say(`${JSON.stringify(helpJson(command))}\n`);
  return say((rest.includes("--all") ? wholeHelp : commandHelp)(command, width));
}

function say(text: string): number {
  // `belay --help | head -1` closes the pipe early.
  process.stdout.on("error", () => {});
  process.stdout.write(text);
  return 0;
}

/** @param before what was typed before the name @param args the name and what follows it */
async function commandNamed(name: string, before: readonly string[], args: readonly string[]): Promise<Command> {
  const commands = await allCommands();
  const found = commands.find((command) => command.name === name);
  if (found) return found;
  // Loaded when no command was typed.
  const { askLine, isAskWithoutName, lineForPath, lineForQuestion } = await import("./flags/corrections.ts");
  if (name.startsWith("-")) {
    const isCommand = name === "-e" || name === "-c";
    const named = isAskWithoutName(args) ? askLine(args) : commandLine(["exec", ...args]);
    const problem = `options come after the command; ${name} is not an option of belay itself`;
    throw new UsageError(problem, isCommand ? named : "belay --help");
  }
  const isFirst = before.length === 0;
  const path = isFirst ? lineForPath(args) : null;
  if (path) throw new UsageError(path.problem, path.line);
  const meant = nearest(name, [...commands.map((command) => command.name), "help"]);
  const question = isFirst && !meant ? lineForQuestion(args) : null;
  if (question) throw new UsageError(question.problem, question.line);
  if (!meant) throw new UsageError(`unknown command ${name}`, "belay --help");
  const line = commandLine([...before, meant, ...args.slice(1)]);
  throw new UsageError(`unknown command ${name}; did you mean ${meant}?`, line);
}

/** Loaded when they are asked for: `belay --version` needs none. */
async function allCommands(): Promise<readonly Command[]> {
  return (await import("./commands/index.ts")).COMMANDS;
}

async function checked(command: Command, args: readonly string[]): Promise<Arguments> {
  const parsed = parseArguments(command.name, command.options, args);
  await checkModelNames(command, parsed);
  const [superfluous] = command.takes ? [] : parsed.positionals;
  if (superfluous === undefined) return parsed;
  const isPath = command.options.some(({ name }) => name === "context") && existsSync(superfluous);
  const line = commandLine(isPath ? [command.name, "-c", superfluous] : ["help", command.name]);
  throw new UsageError(`${command.name} takes no argument ${superfluous}`, line);
}

/** @throws UsageError for a model without its provider, with the nearest name. */
async function checkModelNames(command: Command, args: Arguments): Promise<void> {
  const named = command.options.filter(({ type }) => type.word === "PROVIDER/ID");
  const typed = args.inOrder.filter(({ option }) => named.some(({ name }) => name === option));
  const variable = { option: null, value: process.env.BELAY_MODEL ?? "" };
  const isRead = named.some(({ setting }) => setting === "model") && typed.every(({ option }) => option !== "model");
  const bare = [...typed, ...(isRead ? [variable] : [])].find(({ value }) => /^[^/\s]+$/.test(value));
  if (!bare) return;
  const { modelNameError } = await import("./flags/corrections.ts");
  throw await modelNameError(command.name, args, bare);
}

/**
 * Lines to type next leave out a --store with a password, and so does the list of processes.
 * Programs type no lines.
 */
async function tellOfSecret(args: Arguments): Promise<void> {
  const { NAMED_FLAGS, OUTPUT_FLAGS } = await import("./flags/declared.ts");
  const place = args.get(NAMED_FLAGS.store);
  if (place === undefined || !hasSecret(place)) return;
  process.title = "belay";
  if (!isServer(place.trim()) || place === process.env.BELAY_STORE || args.isGiven(OUTPUT_FLAGS.json)) return;
  process.stderr.write(
    "the URL of --store has a password, so lines to type next leave it out: put the URL into BELAY_STORE for them\n",
  );
}

/** No user can have caused this error; the stack is shown only if it was asked for. */
async function unexpected(error: unknown): Promise<number> {
  const { RlmError } = await import("../../runtime/index.ts");
  const { inFlags } = await import("./render/wording.ts");
  const known = error instanceof RlmError ? `${error.message}\nsuggestion: ${inFlags(error.suggestion)}` : undefined;
  const stack = error instanceof Error && process.env.BELAY_DEBUG ? error.stack : undefined;
  const hint = "set BELAY_DEBUG=1 to see where; `belay doctor` checks the installation";
  process.stderr.write(`belay: ${visible(withoutPasswords(known ?? stack ?? `${String(error)}\n${hint}`))}\n`);
  return 1;
}
