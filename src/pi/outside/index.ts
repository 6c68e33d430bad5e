export type { Asked, Cleared, Compact, Externalized, Left, Switched } from "./asked.ts";
export type { FoldMessage } from "./fold.ts";
export { type Outside, type OutsideParts, openOutside } from "./follow.ts";
export type { PiMessage } from "./message.ts";
