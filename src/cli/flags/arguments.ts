import { parseArgs } from "node:util";
import { nearest } from "../../nearest.ts";
import { commandLine, UsageError } from "./usage.ts";

/** An option of a command, as help shows it and the parser checks it. */
export interface Option {
  /** Without the dashes. */
  readonly name: string;
  readonly short?: string;
  /** What stands for its value in the usage line; an option without one is a switch. */
  readonly value?:
    | "CODE"
    | "PATH"
    | "DIR"
    | "N"
    | "USD"
    | "PROVIDER/ID"
    | "URL"
    | "NAME"
    | "AGE"
    | "send|fail"
    | "FILE"
    | "json|jsonl|csv|raw";
  readonly repeatable?: true;
  readonly summary: string;
}

/** What was typed, in its order: `option` is null for a positional argument. */
export interface Argument {
  readonly option: string | null;
  readonly value: string;
}

/** The checked arguments of one command. */
export interface Arguments {
  readonly inOrder: readonly Argument[];
  /** All of them as they were typed. */
  readonly typed: readonly string[];
  has(name: string): boolean;
  all(name: string): string[];
  /** A whole number from 1; the last one where the option was repeated. @throws UsageError */
  number(name: string): number | undefined;
}

/**
 * Parses what follows a command's name.
 *
 * @throws UsageError for an unknown option, a missing or superfluous value
 */
export function parseArguments(command: string, options: readonly Option[], args: readonly string[]): Arguments {
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(
      options.map(({ name, short, value }) => [
        name,
        { type: value ? ("string" as const) : ("boolean" as const), multiple: true, ...(short ? { short } : {}) },
      ]),
    ),
    // What strict mode refuses is refused below, in words that name the cure.
    strict: false,
    tokens: true,
  });
  const inOrder: Argument[] = [];
  const help = commandLine(["help", command]);
  for (const token of tokens) {
    if (token.kind === "positional") inOrder.push({ option: null, value: token.value });
    if (token.kind !== "option") continue;
    const option = options.find(({ name }) => name === token.name);
    if (!option) throw unknownOption(command, options, args, token);
    if (!option.value && token.inlineValue) {
      throw new UsageError(`${token.rawName} takes no value`, help);
    }
    if (option.value) checkValue(option, options, token, help);
    inOrder.push({ option: option.name, value: token.value ?? "" });
  }
  const all = (name: string) => inOrder.filter(({ option }) => option === name).map(({ value }) => value);
  return {
    inOrder,
    typed: args,
    has: (name) => inOrder.some(({ option }) => option === name),
    all,
    number: (name) => numberFrom(command, name, all(name).at(-1)),
  };
}

interface OptionToken {
  readonly index: number;
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
}

function unknownOption(
  command: string,
  options: readonly Option[],
  args: readonly string[],
  { rawName, index }: OptionToken,
): UsageError {
  const meant = nearest(rawName, options.flatMap(spellings));
  if (!meant) return new UsageError(`unknown option ${rawName}`, commandLine(["help", command]));
  const corrected = args.map((argument, at) => (at === index ? argument.replace(rawName, meant) : argument));
  return new UsageError(`unknown option ${rawName}; did you mean ${meant}?`, commandLine([command, ...corrected]));
}

function checkValue(option: Option, options: readonly Option[], token: OptionToken, help: string): void {
  const { rawName, value, inlineValue } = token;
  const isOption = (text: string) => options.flatMap(spellings).includes(text.replace(/=.*$/s, ""));
  if (value === undefined || (!inlineValue && isOption(value))) {
    const got = value === undefined ? "" : `, but ${value} follows`;
    throw new UsageError(`${rawName} needs ${option.value}${got}`, help);
  }
  const isPath = option.value === "PATH" || option.value === "DIR" || option.value === "FILE";
  if (isPath && value === "") throw new UsageError(`${rawName} needs ${option.value}, but it is empty`, help);
  if (isPath && !inlineValue && /^-./.test(value)) {
    throw new UsageError(
      `${rawName} needs ${option.value}, but ${value} looks like an option (if it is a path, write ./${value})`,
      help,
    );
  }
}

function numberFrom(command: string, name: string, given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  const value = Number(given);
  if (/^\d+$/.test(given) && value >= 1 && Number.isSafeInteger(value)) return value;
  throw new UsageError(
    `--${name} is ${given === "" ? "empty" : given}: it takes a whole number from 1`,
    commandLine(["help", command]),
  );
}

function spellings({ name, short }: Option): string[] {
  return [`--${name}`, ...(short ? [`-${short}`] : [])];
}
