import { createHash } from "node:crypto";
import type { Context } from "../context.ts";
import type { Fingerprint } from "./fingerprint.ts";
import type { KnownLoads } from "./known-loads.ts";

/** Where contexts that were loaded before are found again. */
export interface Known {
  readonly loads: KnownLoads;
  /** ms since the epoch. */
  now(): number;
  /** The context with this hash, or null if it is not kept. */
  open(hash: string): Promise<Context | null>;
}

/** The context that the same files gave before, if it is kept with the same facts. */
export async function recalled({ key, print }: Fingerprint, { loads, open }: Known): Promise<Context | undefined> {
  const found = loads.find(key, print);
  const context = found && (await open(found.hash));
  return context && digestOf(context) === found.facts ? context : undefined;
}

/** Records what a load gave, unless a change of its files could be missed. */
export function remember({ key, print, isOld }: Fingerprint, context: Context, { loads }: Known): void {
  if (isOld) loads.keep(key, print, { hash: context.hash, facts: digestOf(context) });
}

/** One P may come from other files: their paths, routes and what was skipped are facts beside it. */
function digestOf({ documents, routes, stats }: Context): string {
  return createHash("sha256")
    .update(JSON.stringify([documents, routes, stats]))
    .digest("hex");
}
