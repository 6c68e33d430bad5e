/**
 * A flag, declared once. The parser, its messages, help, usage lines and the completion of shells
 * follow from that.
 */
export interface Flag<Value = unknown> {
  /** The name without its dashes. */
  readonly name: string;
  readonly short?: string;
  readonly type: Type<Value>;
  readonly help: string;
  /** The heading in a long help; without a heading it belongs to its command alone. */
  readonly heading?: Heading;
  /** Names of flags that cannot be given together with it. */
  readonly excludes?: readonly string[];
  /** Names of flags that must be given with it. */
  readonly needs?: readonly string[];
  /** The configuration key that it fills: configuration then says which values it takes. */
  readonly setting?: string;
}

export const HEADINGS = ["input", "run", "model", "session", "limits", "output"] as const;
export type Heading = (typeof HEADINGS)[number];

/** The type of a flag's value: its name, its completion and its parser. */
export interface Type<Value> {
  /** Stands for the value in help and messages; null: the flag is a switch. */
  readonly word: string | null;
  readonly completes: Completion;
  /**
   * The flag may be repeated, and every value counts. If another flag is repeated, its last value
   * counts.
   */
  readonly isList?: true;
  /** An empty value, or one that looks like a flag, is a mistake. */
  readonly isPath?: true;
  /** The value may be left out. If it is given, it is behind a `=`. */
  readonly isOptional?: true;
  /**
   * @param texts in the order in which they were typed; none if the flag was not given
   * @param fail makes the error
   */
  read(texts: readonly string[], fail: (value: string, takes: string) => Error): Value;
}

/** The words that a shell offers for a value. */
export type Completion = "nothing" | "anything" | "files" | "sessions" | readonly string[];

/**
 * Flags by the names that code has for them: `maxTurns` is `--max-turns`, unless its declaration
 * has a name.
 */
export const flags = <const Group extends Readonly<Record<string, Unnamed>>>(group: Group) => under(undefined, group);

/** Flags that stand under a heading, as `flags` takes them. */
export function under<const Group extends Readonly<Record<string, Unnamed>>>(
  heading: Heading | undefined,
  group: Group,
): Named<Group>;
export function under(heading: Heading | undefined, group: Readonly<Record<string, Unnamed>>): object {
  const named = (key: string) => ({ name: dashed(key), ...(heading && { heading }) });
  return Object.fromEntries(Object.entries(group).map(([key, declared]) => [key, { ...named(key), ...declared }]));
}

type Unnamed = Omit<Flag, "name"> & Partial<Pick<Flag, "name">>;
type Named<Group> = {
  readonly [key in keyof Group]: Group[key] extends { readonly type: Type<infer Value> } ? Flag<Value> : never;
};

const dashed = (key: string) => key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** A switch. */
export const toggle: Type<boolean> = { word: null, completes: "nothing", read: (texts) => texts.length > 0 };

/**
 * One value. `parse` gives undefined for a text that the flag does not take; `takes` says what it
 * does take.
 */
export function one<Value>(
  word: string,
  takes: string,
  parse: (text: string) => Value | undefined,
  completes: Completion = "anything",
): Type<Value | undefined> {
  return {
    word,
    completes,
    read(texts, fail) {
      const text = texts.at(-1);
      if (text === undefined) return undefined;
      const value = parse(text);
      if (value === undefined) throw fail(text, takes);
      return value;
    },
  };
}

/** Any text. */
export const text = (word: string): Type<string | undefined> => one(word, "a text", (typed) => typed);

/** Any texts. */
export function texts(word: string): Type<readonly string[]> {
  return { word, completes: "anything", isList: true, read: (typed) => typed };
}

/** Several words, each given apart or with commas between them. */
export function words(word: string, takes: string, isOne: (text: string) => boolean): Type<readonly string[]> {
  const split = (typed: readonly string[]) => typed.flatMap((text) => text.split(","));
  return {
    ...texts(word),
    read(typed, fail) {
      const wrong = split(typed).find((text) => !isOne(text));
      if (wrong !== undefined) throw fail(wrong, takes);
      return [...new Set(split(typed))];
    },
  };
}

export const path = (word: string): Type<string | undefined> => ({ ...text(word), completes: "files", isPath: true });

/** A path, or nothing: then it is the empty text. */
export const optionalPath = (word: string): Type<string | undefined> => ({ ...path(word), isOptional: true });

export const paths = (word: string): Type<readonly string[]> => ({ ...texts(word), completes: "files", isPath: true });

/** The name of a session. */
export const session: Type<string | undefined> = { ...text("NAME"), completes: "sessions" };

/** One of these words. */
export function choice<const Word extends string>(words: readonly Word[]): Type<Word | undefined> {
  const parse = (typed: string) => words.find((word) => word === typed);
  return one(words.join("|"), listed(words), parse, words);
}

/** A whole number. */
export function count(most = Number.MAX_SAFE_INTEGER, least = 1): Type<number | undefined> {
  const takes = `a whole number from ${least}${most === Number.MAX_SAFE_INTEGER ? "" : ` to ${most}`}`;
  return one("N", takes, (typed) => {
    const value = Number(typed);
    return /^\d+$/.test(typed) && value >= least && value <= most ? value : undefined;
  });
}

/** `send or fail`, `json, jsonl, csv or raw`. */
const listed = (words: readonly string[]) => words.join(", ").replace(/, ([^,]*)$/, " or $1");

/** Spellings of a flag: `--quiet` and `-q`. */
export function spellings({ name, short }: Flag): string[] {
  return [`--${name}`, ...(short ? [`-${short}`] : [])];
}

/** `--output FILE`, as messages name it. */
export function typedForm({ name, type }: Flag): string {
  return `--${name}${valueForm(type)}`;
}

/** ` FILE`, or `[=FILE]` of a value that may be left out; nothing of a switch. */
export function valueForm({ word, isOptional }: Pick<Type<unknown>, "word" | "isOptional">): string {
  if (word === null) return "";
  return isOptional ? `[=${word}]` : ` ${word}`;
}
