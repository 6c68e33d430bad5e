import * as v from "valibot";
import type { ChildContext, CoverageNotes, Range } from "../../../builtins/index.ts";
import type { Json } from "../../../runtime/index.ts";
import type { Context } from "../../context/index.ts";
import { type Coverage, CoverageSchema } from "../journal/coverage.ts";
import { openPassages, type Passages } from "./passages.ts";

/** Gathers what an exec looks at of one context. */
export interface CoverageCount extends CoverageNotes {
  read(start: number, end: number): void;
  begin(): void;
  /** An exec goes on with what was kept of it. If that was nothing, or is of another context, there is no coverage of the exec. */
  resume(kept: Json): void;
  /** The state that a resume goes on with; for an exec that is over, its coverage alone. */
  kept(isOver: boolean): { readonly [field: string]: Json } | null;
}

type ContextText = Pick<Context["text"], "slice" | "length">;

/** @param context_hash of the context that the text is of */
export function openCoverage(text: ContextText, context_hash: string): CoverageCount {
  let count = countFrom(NOTHING, text);
  let isKnown = true;
  /** The newest kept state, while nothing was added since. */
  let unchanged: ReturnType<CoverageCount["kept"]> = null;

  const stretches = ({ read, matched, sent, isWhole }: Count): Coverage => ({
    context_hash,
    read: read.toString(),
    matched: matched.toString(),
    sent: sent.toString(),
    ...(isWhole ? { whole: true } : {}),
  });

  function from(kept: Kept | null): void {
    isKnown = kept !== null;
    count = countFrom(kept ?? NOTHING, text);
    unchanged = null;
  }

  return {
    begin: () => from(NOTHING),
    resume(kept) {
      const read = v.safeParse(KeptSchema, kept);
      from(read.success && read.output.context_hash === context_hash ? read.output : null);
    },
    kept(isOver) {
      if (!isKnown) return null;
      if (isOver) return { ...stretches(count) };
      unchanged ??= { ...stretches(count), starts: count.passages.kept() };
      return unchanged;
    },
    read(start, end) {
      if (start >= end) return;
      unchanged = null;
      count.read.add(start, end);
      count.passages.note(Math.max(0, start));
    },
    matched(ranges) {
      unchanged = null;
      for (const [start, end] of ranges) {
        // An empty match has a place too.
        count.matched.add(start, Math.max(end, start + 1));
        count.passages.note(start);
      }
    },
    whole() {
      unchanged = null;
      count.isWhole = true;
    },
    sent({ prompt, context }) {
      unchanged = null;
      for (const [start, end] of count.passages.in(prompt)) count.sent.add(start, end);
      for (const [start, end] of context ? sentIn(context) : []) count.sent.add(start, end);
    },
  };

  function sentIn(context: ChildContext): Iterable<Range> {
    if ("text" in context) return count.passages.in(context.text);
    if ("of" in context) return [];
    return "whole" in context ? [[0, text.length]] : context.ranges;
  }
}

interface Count {
  readonly read: Stretches;
  readonly matched: Stretches;
  readonly sent: Stretches;
  readonly passages: Passages;
  isWhole: boolean;
}

/** A store may come from somebody else: what is kept is read with care. */
const KeptSchema = v.object({ ...CoverageSchema.entries, starts: v.string() });

type Kept = Omit<v.InferOutput<typeof KeptSchema>, "context_hash">;

const NOTHING: Kept = { read: "", matched: "", sent: "", starts: "" };

function countFrom(kept: Kept, text: ContextText): Count {
  const passages = openPassages(text);
  passages.restore(kept.starts);
  return {
    read: openStretches(text.length, kept.read),
    matched: openStretches(text.length, kept.matched),
    sent: openStretches(text.length, kept.sent),
    passages,
    isWhole: kept.whole === true,
  };
}

/** A set of the stretches that a text is divided into, all of one length. */
interface Stretches {
  /** Adds those that a range touches, UTF-16 units. */
  add(start: number, end: number): void;
  /** Base64 of the bits: stretch n is bit n % 8, from the lowest, of byte n / 8. Empty if no bit is set. */
  toString(): string;
}

/** The number of stretches of a context. */
export const STRETCHES = 2048;

/** @param length of the text, UTF-16 units. @param kept base64 of the bits that are set */
export function openStretches(length: number, kept = ""): Stretches {
  const bits = new Uint8Array(STRETCHES / 8);
  bits.set(Buffer.from(kept, "base64").subarray(0, bits.length));
  return {
    add(start, end) {
      const [from, to] = [Math.max(0, start), Math.min(end, length)];
      if (from >= to) return;
      // Multiplied first: the quotient of two whole numbers is never rounded up to the next one.
      const last = Math.ceil((to * STRETCHES) / length);
      for (let at = Math.floor((from * STRETCHES) / length); at < last; at++) {
        bits[at >> 3] = (bits[at >> 3] ?? 0) | (1 << (at & 7));
      }
    },
    toString: () => (bits.some((byte) => byte !== 0) ? Buffer.from(bits).toString("base64") : ""),
  };
}
