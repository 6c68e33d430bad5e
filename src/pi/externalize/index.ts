export type { Asked, Cleared, Compact, Left, NextSize, Switched } from "./asked.ts";
export { type Outside, openOutside } from "./follow.ts";
export type { PiMessage } from "./message.ts";
export type { Overview, PastCompaction, PastEpoch, SaidObject } from "./overview.ts";
