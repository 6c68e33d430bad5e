import * as v from "valibot";
import { type ChildContext, contextNotLoaded } from "../../../builtins/index.ts";
import type { Json } from "../../../runtime/index.ts";
import { type Context, excerptOf, isAll, type LoadOptions, load, type Range } from "../../context/index.ts";

/**
 * The source of a child's context, as the journal has it, under the older word `slice`. It can be read again: the store has what it
 * is of by its key.
 */
export type ExcerptInput = Readonly<v.InferOutput<typeof Input>>;

/** Name of the source in the child's statistics, and id of the document that a text is. */
const NAME = "context";

/**
 * Returns the source for what a call gives its model. @param parent what its places are of: P of the session that makes the
 * call, or the conversation. @throws RlmError `context_not_loaded` for parts of P without a P
 */
export function excerptInput(given: ChildContext, parent: Context | null): ExcerptInput {
  if ("text" in given) return { kind: "slice", text: given.text };
  if (!parent) throw contextNotLoaded();
  return { kind: "slice", of: parent.key, ranges: "whole" in given ? [[0, parent.text.length]] : given.ranges };
}

/** Returns null for the input of a load of something else. */
export function readExcerptInput(input: Json): ExcerptInput | null {
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

/** Makes the context of a source. @param contextOf opens the context of that key; what it rejects with is passed on */
export async function loadExcerpt(
  input: ExcerptInput,
  contextOf: (key: string) => Promise<Context>,
  options: Omit<LoadOptions, "roots" | "known">,
): Promise<Context> {
  const source =
    "text" in input
      ? ({ kind: "text", text: input.text, name: NAME } as const)
      : ({ kind: "excerpt", of: await contextOf(input.of), ranges: input.ranges, name: NAME } as const);
  return load(source, { ...options, roots: [] });
}

/** The places of a range of the child's P in the context that the call gave: a range for each part that it touches. */
export function rangesInParent(input: ExcerptInput, parent: Context | null, [start, end]: Range): readonly Range[] {
  if ("ranges" in input) {
    if (!parent) throw contextNotLoaded();
    return isAll(parent.text, input.ranges) ? [[start, end]] : excerptOf(parent, input.ranges).toParent([start, end]);
  }
  // Loading drops a byte order mark.
  const shift = input.text.startsWith("\uFEFF") ? 1 : 0;
  return [[start + shift, end + shift]];
}

/** Places that the first message of a child names. */
const PLACES_TOLD = 5;

/** A sentence that says to a child what its P is; null: it is all of the context that it is of. @param key of the child's context */
export function partOf(input: ExcerptInput, key: string): string | null {
  if ("text" in input) return "P is a text that was given with the question.";
  if (input.of === key) return null;
  const told = input.ranges.slice(0, PLACES_TOLD).map(([start, end]) => `${start} to ${end}`);
  const more = input.ranges.length - told.length;
  return `P is a part of a larger context: characters ${told.join(", ")}${more > 0 ? ` and ${more} more places` : ""} of it.`;
}
