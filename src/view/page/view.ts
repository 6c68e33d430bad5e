import { type GRADES, KINDS, type Kind } from "../format.ts";
import { around, type Listing } from "./list.ts";
import { execOf, type Fold, isSent, type Model, nanosOf } from "./model.ts";
import type { OpenedTexts } from "./source.ts";

/** The thing whose details are shown. `documents` are those of a grade of coverage; `help` explains keys and colours. */
export type Chosen =
  | { readonly kind: "call"; readonly index: number }
  | { readonly kind: "fold"; readonly index: number }
  | { readonly kind: "exec"; readonly index: number }
  | { readonly kind: "documents"; readonly index: number }
  | { readonly kind: "help" };

/** Everything that a person has chosen on the page, over a model that a live page replaces. */
export interface View {
  model: Model;
  readonly texts: OpenedTexts;
  chosen: Chosen;
  /** The place of the time slider in the picture; null: at the end. */
  place: number | null;
  execs: Listing["execs"];
  readonly kinds: Set<number>;
  /** Only calls that failed, and of them only those with this error; 0: any. */
  failed: boolean;
  error: number;
  query: string;
  /** The calls that a search has found; null: nothing is searched. */
  found: ReadonlySet<number> | null;
  order: Listing["order"];
  /** Keys of folds whose calls are listed. */
  readonly open: Set<string>;
}

/** Things that parts of the page ask for. */
export interface Actions {
  choose(chosen: Chosen): void;
  /** Lists anew, after a filter or a fold has changed. */
  list(): void;
}

export const WORDS: Readonly<Record<Kind, string>> = {
  paid: "paid",
  cached: "from the cache, not paid",
  kept: "kept over an interruption, not paid again",
  lost: "lost: failed",
  refused: "refused: nothing was sent",
  pending: "not answered",
};

export const GRADE_WORDS: Readonly<Record<(typeof GRADES)[number], string>> = {
  shown: "shown to a model",
  found: "found by find",
  ranked: "ranked by search",
  touched: "touched by code alone",
  never: "never opened",
};

export const GLYPHS: Readonly<Record<Kind, string>> = {
  ...{ paid: "●", cached: "≡", kept: "✓", lost: "✗", refused: "–", pending: "…" },
};

export const kindOf = ({ columns }: Pick<Model, "columns">, call: number): Kind =>
  KINDS[columns.kind[call] ?? 0] ?? "paid";

/** A name of a fold that is the same in a newer model. */
export const foldKey = ({ exec, from, batches }: Fold, { head }: Model) =>
  `${exec}.${from - (head.execs[exec]?.from ?? 0)}.${batches}`;

export function passes({ model, kinds, failed, error, found }: View, call: number): boolean {
  const { columns } = model;
  if (kinds.size > 0 && !kinds.has(columns.kind[call] ?? 0)) return false;
  if (failed && !columns.error[call]) return false;
  if (error > 0 && columns.error[call] !== error) return false;
  return found === null || found.has(call);
}

/** Opens every fold that a call lies in. */
export function openAround({ model, open }: View, call: number): void {
  for (const index of around(model, call)) {
    const fold = model.folds[index];
    if (fold) open.add(foldKey(fold, model));
  }
}

export interface Counted {
  readonly kinds: readonly number[];
  readonly nanos: number;
  readonly failed: number;
  /** The end of the newest answer; 0: there is none. */
  readonly ended: number;
  readonly isOver: boolean;
}

const counted = new WeakMap<Fold, Counted>();

/** The sums of a fold, which are counted once. */
export function countedIn(fold: Fold, model: Model): Counted {
  const known = counted.get(fold);
  if (known) return known;
  const kinds = KINDS.map(() => 0);
  let [nanos, failed, ended, isOver] = [0, 0, 0, true];
  for (let call = fold.from; call < fold.to; call++) {
    const kind = model.columns.kind[call] ?? 0;
    kinds[kind] = (kinds[kind] ?? 0) + 1;
    nanos += nanosOf(model.columns, call);
    if (model.columns.error[call]) failed++;
    const end = model.ended[call] ?? 0;
    if (Number.isFinite(end)) ended = Math.max(ended, end);
    else isOver = false;
  }
  const sums = { kinds, nanos, failed, ended, isOver };
  counted.set(fold, sums);
  return sums;
}

/** Facts of an instant. `open` counts calls of which the records do not tell yet whether they were sent. */
export function at(model: Model, instant: number) {
  let [answered, flying, open, nanos] = [0, 0, 0, 0];
  for (let call = 0; call < model.head.calls; call++) {
    if ((model.ended[call] ?? 0) <= instant) {
      answered++;
      nanos += nanosOf(model.columns, call);
    } else if (isSent(model, call) && (model.sent[call] ?? 0) <= instant) flying++;
    else if (Number.isNaN(model.sent[call]) && (model.asked[call] ?? 0) <= instant) open++;
  }
  const exec = model.head.execs.findLast(({ began, kind, depth }) => depth === 0 && kind !== "ask" && began <= instant);
  return { answered, flying, open, nanos, exec: exec ?? null };
}

/** The index of the same thing in a newer model, in which calls of children may have come between. */
export function moved(chosen: Chosen, before: Model, now: Model): Chosen {
  if (chosen.kind === "exec") return { kind: "exec", index: sameExec(before.head.execs[chosen.index]?.id, now) };
  if (chosen.kind === "call") {
    const exec = execOf(before.head, before.columns, chosen.index);
    const from = now.head.execs[sameExec(exec?.id, now)]?.from ?? 0;
    return { kind: "call", index: from + chosen.index - (exec?.from ?? 0) };
  }
  if (chosen.kind === "help" || chosen.kind === "documents") return chosen;
  const fold = before.folds[chosen.index];
  const key = fold ? foldKey(fold, before) : "";
  const index = now.folds.findIndex((one) => foldKey(one, now) === key);
  return index < 0 ? { kind: "help" } : { kind: "fold", index };
}

const sameExec = (id: string | undefined, { head }: Model) => head.execs.findIndex((exec) => exec.id === id);
