/** What was typed cannot be run. `line` is one that can: the correction, or what explains the command. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly line: string;

  constructor(message: string, line: string) {
    super(message);
    this.line = line;
  }
}

/** `belay` and these arguments as a line for a shell. */
export function commandLine(args: readonly string[]): string {
  return ["belay", ...args.map(quoted)].join(" ");
}

function quoted(argument: string): string {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}
