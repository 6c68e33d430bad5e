import * as v from "valibot";
import type { ChildContext, CoverageNotes } from "../../../builtins/index.ts";
import type { Json, Over } from "../../../runtime/index.ts";
import type { Context } from "../../context/index.ts";
import { FIRST_UNITS, WHOLE_UNITS } from "../ask/observe.ts";
import { bySet, type Coverage, CoverageSchema, type CoverageSet, SETS } from "../journal/coverage.ts";
import { unpackNumbers } from "./packed-numbers.ts";
import { openPassages, PLACE_UNITS } from "./passages.ts";
import { openRanges, type Range, type Ranges, rangesIn } from "./ranges.ts";

/** Gathers what an exec looks at of one context. */
export interface CoverageCount extends CoverageNotes {
  /** The cell was given this range of P. */
  given(start: number, end: number): void;
  /** The cell was given this range of P as a hit of a search. */
  ranked(start: number, end: number): void;
  begin(): void;
  /** An exec goes on with what was kept of it. If that was nothing, or is of another context, there is no coverage of the exec. */
  resume(kept: Json): void;
  /** The state that a resume goes on with; for an exec that is over, its coverage alone. */
  kept(over: CellOver | null): { readonly [field: string]: Json } | null;
}

/** The end of a cell, and whether a root model reads what it printed. */
export interface CellOver extends Pick<Over, "end" | "state"> {
  readonly isForModel: boolean;
}

type ContextText = Pick<Context["text"], "slice" | "length">;

/**
 * Opens the coverage of a context. Passages are recognised of all that its cells were given, for as long as it is loaded.
 *
 * @param context_hash of the context that the text is of. @param earlier packed ranges that cells before this machine were given
 */
export function openCoverage(text: ContextText, context_hash: string, earlier: readonly string[] = []): CoverageCount {
  const passages = openPassages(text);
  let untold = earlier;
  let count = countFrom(NOTHING, text);
  let isKnown = true;
  /** The newest kept state, while nothing was added since. */
  let unchanged: ReturnType<CoverageCount["kept"]> = null;

  function from(kept: Kept | null): void {
    isKnown = kept !== null;
    count = countFrom(kept ?? NOTHING, text);
    unchanged = null;
  }

  function noteAll(ranges: readonly Range[]): void {
    for (const [start, end] of ranges) passages.note(start, end);
  }

  function passagesIn(prompt: string): Iterable<Range> {
    for (const packed of untold) noteAll(rangesIn(packed, text.length));
    untold = [];
    return passages.in(prompt);
  }

  function add(set: CoverageSet, ranges: Iterable<Range>): void {
    unchanged = null;
    for (const [start, end] of ranges) count.sets[set].add(start, end);
  }

  function give(set: "given" | "ranked", start: number, end: number): void {
    // What is not in the record of an exec is not known after a restart either.
    if (!isKnown || start >= end) return;
    add(set, [[start, end]]);
    passages.note(start, end);
  }

  function sentIn(context: ChildContext): Iterable<Range> {
    if ("text" in context) return passagesIn(context.text);
    if ("of" in context) return [];
    return "whole" in context ? [[0, text.length]] : context.ranges;
  }

  return {
    begin: () => from(NOTHING),
    resume(kept) {
      const read = v.safeParse(KeptSchema, kept);
      from(read.success && read.output.context_hash === context_hash ? read.output : null);
      for (const set of GIVEN) noteAll(count.sets[set].all());
      for (const start of unpackNumbers(count.starts ?? "")) passages.note(start, start + PLACE_UNITS);
    },
    kept(over) {
      if (!isKnown) return null;
      if (over?.isForModel) for (const printed of textsRead(over)) add("printed", passagesIn(printed));
      // A resume knows joined gaps as given.
      for (const set of GIVEN) if (count.sets[set].joined() > 0) noteAll(count.sets[set].all());
      if (over) return { ...coverageOf(count, context_hash) };
      const { starts } = count;
      unchanged ??= { ...coverageOf(count, context_hash), ...(starts === undefined ? {} : { starts }) };
      return unchanged;
    },
    given: (start, end) => give("given", start, end),
    ranked: (start, end) => give("ranked", start, end),
    // An empty match has a place too.
    matched: (ranges) =>
      add(
        "found",
        Iterator.from(ranges).map(([start, end]) => [start, Math.max(end, start + 1)]),
      ),
    whole() {
      give("given", 0, text.length);
      count.isWhole = true;
    },
    sent({ prompt, context }) {
      if (!isKnown) return;
      add("shown", passagesIn(prompt));
      if (context) add("shown", sentIn(context));
    },
  };
}

function coverageOf({ sets, isWhole, bits }: Count, context_hash: string): Coverage {
  const ranges = bySet((set) => sets[set].packed());
  const joined = SETS.map((set) => [set, sets[set].joined()] as const).filter(([, units]) => units > 0);
  return {
    ...{ context_hash, ...bits, ranges },
    ...(isWhole ? { whole: true } : {}),
    ...(joined.length > 0 ? { joined: Object.fromEntries(joined) } : {}),
  };
}

/** The sets from which passages are recognised. */
const GIVEN = ["given", "ranked"] as const;

/** The texts of a cell's end that its root model reads for certain: an observation may be cut, and say more than these. */
function textsRead({ end, state: { output, warnings } }: CellOver): readonly string[] {
  const { stdout, stderr } = output;
  const isPlain = end.kind === "ok" && warnings.length === 0;
  if (!isPlain || stdout.length + stderr.length + end.result.length > WHOLE_UNITS - HEADS_UNITS) {
    return [stdout.slice(0, FIRST_UNITS)];
  }
  const texts = [stdout];
  JSON.parse(end.result, (_key, value) => {
    if (typeof value === "string") texts.push(value);
    return value;
  });
  return texts;
}

/** For what stands between the parts of an observation. */
const HEADS_UNITS = 100;

interface Count {
  readonly sets: Readonly<Record<CoverageSet, Ranges>>;
  /** The sets of stretches of an exec that an earlier build began: they stay as they are. */
  readonly bits: Pick<Coverage, "read" | "matched" | "sent">;
  /** The beginnings of ranges that an earlier build kept for the exec. */
  readonly starts: string | undefined;
  isWhole: boolean;
}

/** A store may come from somebody else: what is kept is read with care. */
const KeptSchema = v.object({ ...CoverageSchema.entries, starts: v.exactOptional(v.string()) });

type Kept = Omit<v.InferOutput<typeof KeptSchema>, "context_hash">;

const NOTHING: Kept = { read: "", matched: "", sent: "" };

function countFrom({ read, matched, sent, ranges, joined, whole, starts }: Kept, text: ContextText): Count {
  const sets = bySet((set) => openRanges(text.length, ranges?.[set], joined?.[set]));
  return { sets, bits: { read, matched, sent }, starts, isWhole: whole === true };
}
