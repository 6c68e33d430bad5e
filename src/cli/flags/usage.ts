import { shellWord } from "../../platform/shell-word.ts";
import { hasSecret, withoutPasswords } from "../../store/store-place.ts";

/** A typed line that cannot be run. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  /** A line that can be typed: the correction, or what explains the command. */
  readonly tryThis: string;

  constructor(message: string, tryThis: string) {
    super(withoutPasswords(message));
    this.tryThis = withoutPasswords(tryThis);
  }
}

/**
 * `belay` and these arguments as a line for a shell. A store whose URL has a password is left out:
 * the user is told to put it into BELAY_STORE.
 */
export function commandLine(args: readonly string[], platform?: NodeJS.Platform): string {
  const isNamed = (at: number) => args[at] === "--store" && hasSecret(args[at + 1] ?? "");
  const shown = args.filter((word, at) => !isSecretStore(word) && !isNamed(at) && !isNamed(at - 1));
  return ["belay", ...shown.map((word) => quoted(word, platform))].join(" ");
}

/** True for the URL of a server with a password, behind whatever flag it was typed. */
function isSecretStore(word: string): boolean {
  const value = word.replace(/^-[\w-]*=/, "");
  return (/^\W*postgres/i.test(value) || word.startsWith("--store=")) && hasSecret(value);
}

/** A word for a shell, without the password of a store. */
export const quoted = (argument: string, platform?: NodeJS.Platform) => shellWord(withoutPasswords(argument), platform);
