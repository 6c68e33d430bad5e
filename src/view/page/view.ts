import { amount } from "../../platform/figures.ts";
import { type Grade, type Kind, MARKS, type Texts } from "../format.ts";
import { around, execOf, type Fold, type Model } from "./model.ts";

/**
 * The thing whose details are shown. `documents` are those of a grade of coverage;
 * `help` explains keys and colours.
 */
export interface Chosen {
  readonly kind: "call" | "batch" | "exec" | "documents" | "help";
  readonly index: number;
}

export const ORDERS = ["as made", "slowest", "dearest"] as const;

/**
 * Everything that a person has chosen on the page, over a model that a live page replaces, and
 * what parts of the page ask for.
 */
export interface View {
  model: Model;
  /**
   * Texts by their numbers: those at hand, or null; those that are read if need
   * be; and whether some were read.
   */
  readonly texts: {
    peek(text: number): Texts | null;
    of(text: number): Promise<Texts>;
    readSome(texts: readonly number[]): Promise<boolean>;
  };
  chosen: Chosen;
  /** The place of the time slider in the picture; null: at the end. */
  place: number | null;
  /** The first and the last exec whose calls are listed; null: all. */
  execs: readonly [first: number, last: number] | null;
  readonly kinds: Set<number>;
  /** Only calls with this error; 0: any. */
  error: number;
  query: string;
  /** The calls that a search has found; null: nothing is searched. */
  found: ReadonlySet<number> | null;
  order: (typeof ORDERS)[number];
  /** Keys of folds whose calls are listed. */
  readonly open: Set<string>;
  choose(chosen: Chosen): void;
  /** Lists anew, after a filter has changed. */
  list(): void;
  toggle(fold: Fold): void;
  /** Goes to the page of a job's session. */
  openJob(number: number): void;
}

/** The glyph of a kind, its words, and the class of the style whose colour and pattern it has. */
export const LOOKS: Readonly<Record<Kind, readonly [glyph: string, words: string, style: string]>> = {
  paid: ["●", "paid", "paid"],
  cached: ["≡", "from the cache, not paid", "cached"],
  kept: ["✓", "kept over an interruption, not paid again", "kept"],
  lost: ["✗", "lost: failed", "lost"],
  refused: ["–", "refused: nothing was sent", "refused"],
  pending: ["…", "not answered", "pending"],
  done: ["●", "done", "paid"],
  failed: ["✗", "failed", "lost"],
  running: ["…", "running", "pending"],
  waiting: ["○", "waiting", "cached"],
  parked: ["‖", "parked", "kept"],
  cancelling: ["–", "being cancelled", "refused"],
  cancelled: ["–", "cancelled", "refused"],
};

export const GRADE_WORDS: Readonly<Record<Grade, string>> = {
  shown: "shown to a model",
  found: "found by find",
  ranked: "ranked by search",
  touched: "touched by code alone",
  never: "never opened",
};

/** The marks of a call, in words. */
export const markWords = (marks: number) => MARKS.filter((_, bit) => (marks & (1 << bit)) !== 0);

/** `2 files could not be read` */
export const unreadWords = (count: number) => `${amount(count, "file")} could not be read`;

/** The word for what is listed. */
export const nounOf = ({ head }: Pick<Model, "head">) => (head.subject === "run" ? "job" : "sub-call");

/** A name of a fold that is the same in a newer model. */
export const foldKey = ({ exec, from, batches }: Fold, { head }: Model) =>
  `${exec}.${from - (head.execs[exec]?.from ?? 0)}.${batches}`;

export function openAround({ model, open }: View, call: number): void {
  for (const fold of around(model, call)) open.add(foldKey(fold, model));
}

/** The same thing in a newer model, in which calls of children may have come between. */
export function moved({ kind, index }: Chosen, before: Model, now: Model): Chosen {
  const sameExec = (id: string | undefined) => now.head.execs.findIndex((exec) => exec.id === id);
  if (kind === "exec") return { kind, index: sameExec(before.head.execs[index]?.id) };
  if (kind === "call") {
    const exec = execOf(before, index);
    return { kind, index: index - (exec?.from ?? 0) + (now.head.execs[sameExec(exec?.id)]?.from ?? 0) };
  }
  const fold = kind === "batch" ? before.folds[index] : undefined;
  if (!fold) return { kind, index };
  const same = now.folds.findIndex((one) => foldKey(one, now) === foldKey(fold, before));
  return same < 0 ? { kind: "help", index: 0 } : { kind, index: same };
}
