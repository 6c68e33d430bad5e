import type { ServerFacts } from "./postgres/look.ts";

export type * from "./batch-store.ts";
export { everyRun, everySession } from "./every-row.ts";
export { storeFull } from "./failure.ts";
export type * from "./jobs/answers.ts";
export type * from "./jobs/port.ts";
export { openStore } from "./open.ts";
export type * from "./port.ts";
export { readServerUrl } from "./postgres/url.ts";
export { readablePart } from "./readable-part.ts";
export { isWithin } from "./rows/bounds.ts";
export { shareStore } from "./shared.ts";
export { textKey } from "./sql/cache.ts";
export { findingsIn, type Verified, verifyStore } from "./verify-store.ts";
export type { ServerFacts };

/** Looks at the server of a store, and changes nothing. @throws RlmError `store_failed`, `store_too_new` */
export async function lookAtServer(url: string): Promise<ServerFacts> {
  // Loaded when a server is looked at: a store in a folder needs no client.
  return (await import("./postgres/look.ts")).lookAtServer(url);
}
