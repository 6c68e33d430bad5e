import type { Arguments } from "./arguments.ts";
import { commandLine, UsageError } from "./usage.ts";

/** What was typed without an option. */
export function namesIn(args: Arguments): string[] {
  return args.inOrder.filter(({ option }) => option === null).map(({ value }) => value);
}

/** The one session that a command is about. @throws UsageError */
export function onlyName(args: Arguments, command: string): string {
  const names = namesIn(args);
  const [name] = names;
  if (name !== undefined && names.length === 1) return name;
  const problem = name === undefined ? "name a session; belay sessions lists them" : `${command} takes one session`;
  throw new UsageError(problem, commandLine(name === undefined ? ["sessions"] : [command, name]));
}
