import type { ChildContext, CoverageNotes } from "../../../builtins/index.ts";
import type { Json, Over } from "../../../runtime/index.ts";
import type { Context } from "../../context/index.ts";
import { FIRST_UNITS, WHOLE_UNITS } from "../ask/observe.ts";
import { bySet, type Coverage, type CoverageSet, coverageIn, SETS } from "../journal/coverage.ts";
import { openLines, openPassages } from "./passages.ts";
import { openRanges, type Range, type RangeSet, rangesIn } from "./ranges.ts";

/** Gathers what an exec looks at of one context. */
export interface CoverageCount extends CoverageNotes {
  /** The cell was given this range of P: in a hit of a search it is `ranked`. */
  given(start: number, end: number, set: Given): void;
  begin(): void;
  /** An exec continues with what was kept of it. If that was nothing, or is of another context, there is no coverage of the exec. */
  resume(kept: Json): void;
  /** Returns the coverage so far, with which a resume continues. @param over the end of the exec; `null` if it waits for calls */
  kept(over: CellOver | null): { readonly [field: string]: Json } | null;
}

/** The end of a cell, and whether a root model reads what it printed. */
export interface CellOver extends Pick<Over, "end" | "state"> {
  readonly isForModel: boolean;
}

/** The sets from which passages are recognised. */
const GIVEN = ["given", "ranked"] as const;
type Given = (typeof GIVEN)[number];

/**
 * Opens the coverage of a context. Passages are recognised of all that its cells were given, for as long as it is loaded.
 *
 * @param context_hash of the context that the text is of. @param earlier packed ranges that cells before this machine were given
 */
export function openCoverage(
  text: Pick<Context["text"], "slice" | "length">,
  context_hash: string,
  earlier: readonly string[] = [],
): CoverageCount {
  const passages = openPassages(text);
  const lines = openLines(text);
  let untold = earlier;
  /** null: what the exec did before is not known. */
  let count: Count | null = countFrom(null, text.length);

  function noteAll(ranges: readonly Range[] = []): void {
    for (const [start, end] of ranges) passages.note(start, end);
  }

  /** @param read texts that a model reads one after the other, such as those of a list */
  function* passagesIn(...read: readonly string[]): Iterable<Range> {
    for (const packed of untold) noteAll(rangesIn(packed, text.length));
    untold = [];
    for (const one of read) yield* passages.in(one);
    yield* lines.in(read.join("\n"));
  }

  function add(set: CoverageSet, ranges: Iterable<Range>): void {
    for (const [start, end] of ranges) count?.sets[set].add(start, end);
  }

  function given(start: number, end: number, set: Given): void {
    // A range that is not in the record of an exec is not known after a restart either.
    if (!count || start >= end) return;
    add(set, [[start, end]]);
    passages.note(start, end);
  }

  function sentIn(context: ChildContext): Iterable<Range> {
    if ("text" in context) return passagesIn(context.text);
    if ("of" in context) return [];
    return "whole" in context ? [[0, text.length]] : context.ranges;
  }

  return {
    given,
    begin() {
      count = countFrom(null, text.length);
    },
    resume(kept) {
      const read = coverageIn(kept);
      count = read?.context_hash === context_hash ? countFrom(read, text.length) : null;
      for (const set of GIVEN) noteAll(count?.sets[set].tell().ranges);
    },
    kept(over) {
      if (!count) return null;
      if (over?.isForModel) add("printed", passagesIn(...textsRead(over)));
      const told = coverageOf(count, context_hash);
      // A resume knows joined gaps as given.
      for (const set of GIVEN) if (told.joined?.[set]) noteAll(count.sets[set].tell().ranges);
      return { ...told };
    },
    matched(ranges) {
      // An empty match has a place too.
      for (const [start, end] of ranges) count?.sets.found.add(start, Math.max(end, start + 1));
    },
    whole() {
      given(0, text.length, "given");
      if (count) count.isWhole = true;
    },
    sent({ prompt, context }) {
      if (!count) return;
      add("shown", passagesIn(prompt));
      if (context) add("shown", sentIn(context));
    },
  };
}

/** The coverage of one exec while it grows. */
interface Count {
  readonly sets: Readonly<Record<CoverageSet, RangeSet>>;
  isWhole: boolean;
}

function countFrom(kept: Coverage | null, length: number): Count {
  const sets = bySet((set) => openRanges(length, kept?.ranges[set], kept?.joined?.[set]));
  return { sets, isWhole: kept?.whole === true };
}

function coverageOf({ sets, isWhole }: Count, context_hash: string): Coverage {
  const joined = SETS.map((set) => [set, sets[set].tell().joined] as const).filter(([, units]) => units > 0);
  return {
    context_hash,
    ranges: bySet((set) => sets[set].tell().packed),
    ...(isWhole ? { whole: true } : {}),
    ...(joined.length > 0 ? { joined: Object.fromEntries(joined) } : {}),
  };
}

/** For what stands between the parts of an observation. */
const HEADS_UNITS = 100;

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
