import type { TracedExec } from "../format.ts";
import { around, execOf, type Fold, type Model, ranFor } from "./model.ts";
import { foldKey, ORDERS, type View } from "./view.ts";

/** Rows of the list: a call is its number, a fold is -1 less its number. */
export type Rows = Int32Array;

/** The calls that a person wants to see. */
type Wanted = Pick<View, "model" | "execs" | "kinds" | "error" | "query" | "found" | "order" | "open">;

/**
 * The rows of the list, and how many calls they stand for. A child's calls are
 * below the call that it answers.
 */
export function rowsOf(view: Wanted): { readonly rows: Rows; readonly calls: number } {
  const { model, order, open } = view;
  const { execs } = model.head;
  const isFlat = view.query !== "" || view.error > 0 || order !== ORDERS[0];
  const [first, last] = view.execs ?? [0, execs.length];
  const top = execs[first]?.depth ?? 0;
  const rows: number[] = [];
  const said = new Set<Fold>();
  let calls = 0;

  /**
   * Lists the folds around a call, unless they are listed. True if they are open, and
   * those around the calls above too.
   */
  function isShown(call: number): boolean {
    const { of = null, depth = 0 } = execOf(model, call) ?? {};
    let shown = of === null || depth <= top || isShown(of);
    for (const fold of around(model, call)) {
      if (shown && !said.has(fold)) rows.push(-1 - fold.index);
      said.add(fold);
      shown &&= open.has(foldKey(fold, model));
    }
    return shown;
  }

  for (const call of model.order) {
    const exec = model.columns.of("exec", call);
    if (exec < first || exec > last || !passes(view, call)) continue;
    calls++;
    if (isFlat || isShown(call)) rows.push(call);
  }
  return { rows: ordered(Int32Array.from(rows), model, order), calls };
}

function passes({ model, kinds, error, found }: Pick<View, "model" | "kinds" | "error" | "found">, call: number) {
  const { of } = model.columns;
  if (kinds.size > 0 && !kinds.has(of("kind", call))) return false;
  if (error > 0 && of("error", call) !== error) return false;
  return found === null || found.has(call);
}

/**
 * The last of the execs that are parts of one or below it: of an ask its turns and
 * cells, of all the execs of children.
 */
export function lastOf(execs: readonly TracedExec[], index: number): number {
  const { kind, depth = 0 } = execs[index] ?? {};
  const isPart = (next: TracedExec) =>
    next.depth > depth || (kind === "ask" && next.depth === depth && next.parent !== null);
  const after = execs.findIndex((next, at) => at > index && !isPart(next));
  return after < 0 ? execs.length - 1 : after - 1;
}

function ordered(rows: Rows, model: Model, order: View["order"]): Rows {
  if (order === "as made") return rows;
  const keyOf = (call: number) => (order === "slowest" ? ranFor(model, call) : model.columns.nanos(call));
  const keys = Float64Array.from({ length: model.head.calls }, (_, call) => keyOf(call));
  return rows.sort((one, other) => (keys[other] ?? 0) - (keys[one] ?? 0));
}
