import * as v from "valibot";
import type { Json } from "../../../runtime/index.ts";

/**
 * Which stretches of a context an exec has looked at, of 2,048 equal ones: sets of bits as base64, empty if no bit is set.
 * Stretch n is bit n % 8, from the lowest, of byte n / 8.
 */
export interface Coverage {
  readonly context_hash: string;
  /** Given to the cell by `peek`, `peek_doc` and `search`. */
  readonly read: string;
  /** Found by `find`. */
  readonly matched: string;
  /**
   * Given to a model: contexts of calls, and passages of prompts. A passage has 64 characters or more, and begins where a
   * range began that the cell was given before.
   */
  readonly sent: string;
  /** The cell touched `P`: all of it was at hand. */
  readonly whole?: true;
}

/** The coverage with its fields, which a machine keeps while its exec runs. */
export const CoverageSchema = v.object({
  context_hash: v.string(),
  read: v.string(),
  matched: v.string(),
  sent: v.string(),
  whole: v.exactOptional(v.literal(true)),
});

/** The coverage in what a machine has kept of an exec; null if there is none. */
export function coverageIn(kept: Json | undefined): Coverage | null {
  const read = v.safeParse(CoverageSchema, kept);
  return read.success ? read.output : null;
}

/** Hash of the conversation in what a machine has kept of an exec, if a cell has touched it; else null. */
export function touchedIn(kept: Json | undefined): string | null {
  const read = v.safeParse(TouchedSchema, kept);
  return read.success ? read.output.history_hash : null;
}

const TouchedSchema = v.object({ history_hash: v.string() });
