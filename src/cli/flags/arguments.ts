import { parseArgs } from "node:util";
import { nearest } from "../../platform/nearest.ts";
import { type Flag, spellings, typedForm } from "./flag.ts";
import { commandLine, UsageError } from "./usage.ts";

/** An argument, as it was typed: `option` is null for a positional one. */
export interface Argument {
  readonly option: string | null;
  readonly value: string;
}

/** The checked arguments of one command. */
export interface Arguments {
  /** Arguments and options, in the order in which they were typed. */
  readonly inOrder: readonly Argument[];
  /** Arguments without a flag. */
  readonly positionals: readonly string[];
  /** The arguments as they were typed. */
  readonly typed: readonly string[];
  /** True if the flag was typed. */
  isGiven(flag: Flag): boolean;
  /**
   * The value of a flag; that of a flag that was not given if the command has no such flag.
   *
   * @throws UsageError
   */
  get<Value>(flag: Flag<Value>): Value;
}

/**
 * Parses what follows a command's name.
 *
 * @throws UsageError for an unknown flag, a missing, superfluous or wrong value, and flags that do
 * not go together
 */
export function parseArguments(command: string, flags: readonly Flag[], args: readonly string[]): Arguments {
  const inOrder = argumentsIn(command, flags, args);
  const help = commandLine(["help", command]);
  const textsOf = ({ name }: Flag) => inOrder.filter(({ option }) => option === name).map(({ value }) => value);
  const wrong = (name: string) => (value: string, takes: string) =>
    new UsageError(`--${name} is ${value || "empty"}: it takes ${takes}`, help);
  const parsed = {
    inOrder,
    positionals: inOrder.filter(({ option }) => option === null).map(({ value }) => value),
    typed: args,
    isGiven: ({ name }: Flag) => inOrder.some(({ option }) => option === name),
    get: <Value>(flag: Flag<Value>): Value => flag.type.read(textsOf(flag), wrong(flag.name)),
  };
  const typed = flags.filter(parsed.isGiven);
  for (const { name, excludes = [], needs = [] } of typed) {
    const excluded = typed.find((other) => excludes.includes(other.name));
    if (excluded) throw new UsageError(`--${name} and --${excluded.name} exclude each other`, help);
    const missing = flags.find((other) => needs.includes(other.name) && !typed.includes(other));
    if (missing) throw new UsageError(`--${name} needs ${typedForm(missing)}`, help);
  }
  for (const flag of typed) parsed.get(flag);
  return parsed;
}

/** The values of a group of flags that were given, by the names that the group has for them. */
export type Given<Group> = { readonly [name in keyof Group]?: Exclude<Values<Group>[name], undefined> };

export function givenIn<Group extends Readonly<Record<string, Flag>>>(args: Arguments, group: Group): Given<Group>;
export function givenIn(args: Arguments, group: Readonly<Record<string, Flag>>): object {
  const typed = Object.entries(group).filter(([, flag]) => args.isGiven(flag));
  return Object.fromEntries(typed.map(([name, flag]) => [name, args.get(flag)]));
}

type Values<Group> = { readonly [name in keyof Group]: Group[name] extends Flag<infer Value> ? Value : never };

/** The values of a group of flags, also of those that were not given. @throws UsageError */
export function valuesIn<Group extends Readonly<Record<string, Flag>>>(args: Arguments, group: Group): Values<Group>;
export function valuesIn(args: Arguments, group: Readonly<Record<string, Flag>>): object {
  return Object.fromEntries(Object.entries(group).map(([name, flag]) => [name, args.get(flag)]));
}

function argumentsIn(command: string, flags: readonly Flag[], args: readonly string[]): Argument[] {
  const inOrder: Argument[] = [];
  const help = commandLine(["help", command]);
  for (const token of tokensIn(flags, args)) {
    if (token.kind === "positional") inOrder.push({ option: null, value: token.value });
    if (token.kind !== "option") continue;
    const flag = flags.find(({ name }) => name === token.name);
    if (!flag) throw unknownFlag(command, flags, args, token);
    if (flag.type.isOptional && token.value === undefined) {
      inOrder.push({ option: flag.name, value: "" });
      continue;
    }
    if (flag.type.word !== null) checkValue(flag, flags, token, help);
    else if (token.inlineValue) throw new UsageError(`${token.rawName} takes no value`, help);
    inOrder.push({ option: flag.name, value: token.value ?? "" });
  }
  return inOrder;
}

function tokensIn(flags: readonly Flag[], args: readonly string[]) {
  const options = Object.fromEntries(flags.map((flag) => [flag.name, optionOf(flag)]));
  // The code above refuses what strict mode would refuse, in words that name the cure.
  return parseArgs({ args: [...args], options, strict: false, tokens: true }).tokens;
}

function optionOf({ short, type: { word, isOptional } }: Flag) {
  const takesNext = word !== null && !isOptional;
  return { type: takesNext ? ("string" as const) : ("boolean" as const), multiple: true, ...(short ? { short } : {}) };
}

/** An option of the line, as `parseArgs` gives it. */
interface OptionToken {
  readonly rawName: string;
  /** Place of its word in the line. */
  readonly index: number;
  readonly value?: string | undefined;
  /** True if the value stands behind a `=`. */
  readonly inlineValue?: boolean | undefined;
}

function unknownFlag(command: string, flags: readonly Flag[], args: readonly string[], token: OptionToken): UsageError {
  const { rawName, index } = token;
  const meant = nearest(rawName, flags.flatMap(spellings));
  if (!meant) return new UsageError(`unknown option ${rawName}`, commandLine(["help", command]));
  const corrected = args.map((argument, at) => (at === index ? argument.replace(rawName, meant) : argument));
  return new UsageError(`unknown option ${rawName}; did you mean ${meant}?`, commandLine([command, ...corrected]));
}

function checkValue({ type }: Flag, flags: readonly Flag[], token: OptionToken, help: string): void {
  const { rawName, value, inlineValue } = token;
  const isFlag = (text: string) => flags.flatMap(spellings).includes(text.replace(/=.*$/s, ""));
  if (value === undefined || (!inlineValue && isFlag(value))) {
    const got = value === undefined ? "" : `, but ${value} follows`;
    throw new UsageError(`${rawName} needs ${type.word}${got}`, help);
  }
  if (!type.isPath) return;
  if (value === "") throw new UsageError(`${rawName} needs ${type.word}, but it is empty`, help);
  if (!inlineValue && /^-./.test(value)) {
    const problem = `${value} looks like an option (if it is a path, write ./${value})`;
    throw new UsageError(`${rawName} needs ${type.word}, but ${problem}`, help);
  }
}
