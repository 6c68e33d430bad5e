export type { Asked, Cleared, Compact, Left, NextSize, Switched } from "./asked.ts";
export type { FoldMessage } from "./fold.ts";
export { type Outside, type OutsideParts, openOutside } from "./follow.ts";
export type { PiMessage } from "./message.ts";
export type { Overview, PastCompaction, PastEpoch, SaidObject } from "./overview.ts";
