import type { Control } from "./control.ts";

/** What a command is given of Pi. */
export interface CommandContext {
  readonly cwd: string;
  /** Dialogs can be shown. */
  readonly hasUI: boolean;
  readonly ui: {
    notify(message: string, type?: "info" | "warning" | "error"): void;
    select(title: string, options: string[]): Promise<string | undefined>;
    confirm(title: string, message: string): Promise<boolean>;
  };
  /** Nothing is being answered. */
  isIdle(): boolean;
  compact(options: { onComplete(): void; onError(error: Error): void }): void;
}

export interface CommandParts {
  /** ms since the epoch. */
  now(): number;
  /** Where a command speaks when there is no user interface. */
  write(text: string): void;
}

/** A subcommand of `/rlm`. */
export interface Verb {
  readonly name: string;
  readonly description: string;
  /** What it can be given that does something else. */
  readonly option?: { readonly argument: string; readonly description: string };
  /** What is to be said, or null. */
  run(
    control: Control,
    context: CommandContext,
    parts: CommandParts,
    argument: string,
  ): Promise<string | null> | string;
}
