import type { ServerFacts } from "./postgres/look.ts";

export type * from "./batch-store.ts";
export { storeFull } from "./failure.ts";
export type * from "./job-store.ts";
export { openStore, shareStore } from "./open.ts";
export type * from "./port.ts";
export { isWithin } from "./rows/pack.ts";
export { textKey } from "./sql/cache.ts";
export { everyRun, everySession, findingsIn, readablePart, type Verified, verifyStore } from "./whole-reads.ts";
export type { ServerFacts };

/**
 * Looks at the server of a store, and changes nothing.
 *
 * @throws RlmError `store_failed`, `store_too_new`
 */
export async function lookAtServer(url: string): Promise<ServerFacts> {
  // Loaded when a server is looked at: a store in a folder needs no client.
  return (await import("./postgres/look.ts")).lookAtServer(url);
}
