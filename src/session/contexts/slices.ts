import * as v from "valibot";
import type { ChildContext } from "../../../builtins/index.ts";
import type { Json } from "../../../runtime/index.ts";
import { type Context, isAll, type LoadOptions, load, type Range, sliceOf } from "../../context/index.ts";

/** The source of a child's context, as the journal has it. It can be read again: the store has what it is of by hash. */
export type SliceInput =
  | { readonly kind: "slice"; readonly of: string; readonly ranges: readonly Range[] }
  | { readonly kind: "slice"; readonly text: string };

/** Name of the source in the child's statistics, and id of the document that a text is. */
const NAME = "context";

/** Returns the source for what a call gives its model. @param parent the context of the session that makes the call */
export function sliceInput(given: ChildContext, parent: Context): SliceInput {
  if ("text" in given) return { kind: "slice", text: given.text };
  return { kind: "slice", of: parent.hash, ranges: "whole" in given ? [[0, parent.text.length]] : given.ranges };
}

/** Returns null for the input of a load of something else. */
export function readSliceInput(input: Json): SliceInput | null {
  const read = v.safeParse(Input, input);
  return read.success ? read.output : null;
}

const Unit = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const Input = v.union([
  v.object({ kind: v.literal("slice"), text: v.string() }),
  v.object({
    kind: v.literal("slice"),
    of: v.string(),
    ranges: v.pipe(v.array(v.pipe(v.tuple([Unit, Unit]), v.readonly())), v.readonly()),
  }),
]);

/** Makes the context of a source. @param contextOf opens the context of that hash; what it rejects with is passed on */
export async function loadSlice(
  input: SliceInput,
  contextOf: (hash: string) => Promise<Context>,
  options: Omit<LoadOptions, "roots" | "known">,
): Promise<Context> {
  const source =
    "text" in input
      ? ({ kind: "text", text: input.text, name: NAME } as const)
      : ({ kind: "slice", of: await contextOf(input.of), ranges: input.ranges, name: NAME } as const);
  return load(source, { ...options, roots: [] });
}

/** Where a range of the child's P lies in what the call gave: a range for each part that it touches. */
export function rangesInParent(input: SliceInput, parent: Context, [start, end]: Range): readonly Range[] {
  if ("ranges" in input) {
    return isAll(parent.text, input.ranges) ? [[start, end]] : sliceOf(parent, input.ranges).toParent([start, end]);
  }
  // Loading drops a byte order mark.
  const shift = input.text.startsWith("\uFEFF") ? 1 : 0;
  return [[start + shift, end + shift]];
}
