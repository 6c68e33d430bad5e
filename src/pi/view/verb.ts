import type { ExtensionContext, ExtensionUIContext } from "@mariozechner/pi-coding-agent";
import { RlmError } from "../../../runtime/index.ts";
import type { Control } from "./control.ts";
import { oneLine } from "./texts.ts";

/** The part of Pi that a command gets. */
export interface CommandContext extends Readonly<Pick<ExtensionContext, "cwd" | "hasUI" | "isIdle">> {
  /** Pi calls the factory of `custom` in a terminal only. */
  readonly ui: Pick<ExtensionUIContext, "notify" | "select" | "confirm" | "custom">;
  compact(options: { onComplete(): void; onError(error: Error): void }): void;
}

export interface CommandParts {
  /** ms since the epoch. */
  now(): number;
  /** Writes the words of a command when there is no user interface. */
  write(text: string): void;
}

/** A subcommand of `/rlm`. */
export interface Verb {
  readonly name: string;
  readonly description: string;
  /** An option that does something else. */
  readonly option?: { readonly argument: string; readonly description: string };
  /** Returns the words to show, or null. */
  run(
    control: Control,
    context: CommandContext,
    parts: CommandParts,
    argument: string,
  ): Promise<string | null> | string;
}

export const YES = "--yes";

/**
 * The argument without `--yes`, and a function that makes sure: it asks the person unless `--yes`
 * was typed.
 */
export function asked(argument: string) {
  const words = argument.split(" ").filter((word) => word !== "");
  return {
    rest: words.filter((word) => word !== YES).join(" "),
    /** @throws RlmError if nobody can be asked */
    async isSure({ hasUI, ui }: CommandContext, question: string, about: string): Promise<boolean> {
      if (words.includes(YES)) return true;
      if (hasUI) return ui.confirm(question, about);
      throw new RlmError("invalid_argument", "the question needs a user interface", { suggestion: `Add ${YES}.` });
    },
  };
}

export function unknownArgument(verb: string, argument: string, known?: string): RlmError {
  return new RlmError("invalid_argument", `/rlm ${verb} does not take ${oneLine(argument, 40)}`, {
    suggestion: known === undefined ? `/rlm ${verb} has no options.` : `/rlm ${verb} ${known}`,
  });
}
