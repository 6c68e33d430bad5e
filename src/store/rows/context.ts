import type { Json } from "../../../runtime/index.ts";
import { unpackText } from "./pack.ts";
import { isSealed, type Row, value } from "./seal.ts";

export interface ContextHead {
  /** Hashes. */
  readonly parts: readonly string[];
  readonly index: Json;
}

/** The context without its bytes; null if it is damaged. */
export function readHead(row: Row): ContextHead | null {
  const [facts, listed] = [unpackText(row, "facts"), unpackText(row, "parts")];
  if (facts === null || listed === null || !isSealed(row, [value(row, "hash"), value(row, "parts"), facts]))
    return null;
  const parts: readonly string[] = JSON.parse(listed);
  return { parts, index: JSON.parse(facts) };
}
