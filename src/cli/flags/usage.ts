/** What was typed cannot be run. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  /** A line that can be typed: the correction, or what explains the command. */
  readonly tryThis: string;

  constructor(message: string, tryThis: string) {
    super(message);
    this.tryThis = tryThis;
  }
}

/** `belay` and these arguments as a line for a shell. */
export function commandLine(args: readonly string[]): string {
  return ["belay", ...args.map(quoted)].join(" ");
}

function quoted(argument: string): string {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}
