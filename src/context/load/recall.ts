import type { Context } from "../context.ts";
import type { Fingerprint } from "./fingerprint.ts";
import type { KnownLoads } from "./known-loads.ts";

/** A source of contexts that were loaded before. */
export interface Known {
  readonly loads: KnownLoads;
  /** ms since the epoch. */
  now(): number;
  /** The context with this key, or null if it is not kept. */
  open(key: string): Promise<Context | null>;
}

/** The context that the same files gave before, if it is kept. */
export async function recalled({ key, print }: Fingerprint, { loads, open }: Known): Promise<Context | undefined> {
  const found = loads.find(key, print);
  return (found && (await open(found.key))) ?? undefined;
}

/** Records what a load gave, unless a change of its files could be missed. */
export function remember({ key, print, isOld }: Fingerprint, context: Context, { loads }: Known): void {
  if (isOld) loads.keep(key, print, { hash: context.hash, key: context.key });
}
