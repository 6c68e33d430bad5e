import * as v from "valibot";
import type { Json } from "../../../runtime/index.ts";

/** Hash of the conversation in what a machine has kept of an exec, if a cell has touched it; else null. */
export function touchedIn(kept: Json | undefined): string | null {
  const read = v.safeParse(TouchedSchema, kept);
  return read.success ? read.output.history_hash : null;
}

const TouchedSchema = v.object({ history_hash: v.string() });
