import type { tableOfOriginal } from "./read.ts";

/** Reads the rows of one sheet or table. The readers are imported when they are needed. @throws RlmError */
export const tableOf: typeof tableOfOriginal = async (...asked) =>
  (await import("./read.ts")).tableOfOriginal(...asked);
