import { hasSecret } from "../../store-place.ts";

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

/**
 * `belay` and these arguments as a line for a shell. A store whose URL has a password is left out: the user is told to put it
 * into BELAY_STORE.
 */
export function commandLine(args: readonly string[]): string {
  const shown = args.filter((word, at) => !isSecret(word) && !(word === "--store" && isSecret(args[at + 1] ?? "")));
  return ["belay", ...shown.map(quoted)].join(" ");
}

const isSecret = (word: string) => hasSecret(word.replace(/^--store=/, ""));

function quoted(argument: string): string {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}
