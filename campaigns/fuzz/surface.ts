import { isDeepStrictEqual } from "node:util";
import { ERROR_CODES, RlmError } from "../../runtime/index.ts";
import type { Random } from "./mutate.ts";

/** A place at which something foreign comes in. */
export interface Surface extends AsyncDisposable {
  /** Plays one case. Returns what is wrong, or null. */
  play(random: Random): Promise<string | null>;
}

/** Opens a surface, or returns why it cannot be played here. @param folder an empty one of the surface's own */
export type OpenSurface = (folder: string) => Promise<Surface | string>;

/** The problem with an error: only those that have a code and a cure may come out. */
export function unnamed(error: unknown): string | null {
  if (error instanceof RlmError && ERROR_CODES.includes(error.code) && error.suggestion !== "") return null;
  return `an error without a code came out: ${error instanceof Error ? error.stack : String(error)}`;
}

/** Runs something that may fail by a named error. Returns what is wrong, or null. */
export async function named(run: () => unknown): Promise<string | null> {
  try {
    await run();
    return null;
  } catch (error) {
    return unnamed(error);
  }
}

/** The difference between two outcomes, or null. */
export function different(name: string, found: unknown, expected: unknown): string | null {
  if (isDeepStrictEqual(found, expected)) return null;
  return `${name}: ${JSON.stringify(found)?.slice(0, 400)} instead of ${JSON.stringify(expected)?.slice(0, 400)}`;
}
