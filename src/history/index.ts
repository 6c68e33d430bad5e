export type { AskDescription, TurnDescription } from "../session/journal/ask-records.ts";
export type * from "./api.ts";
export { type TextBounds, withBoundedTexts } from "./bounded-texts.ts";
export { type Compared, compareSessions } from "./compare.ts";
export type { ComparedCall } from "./compared-calls.ts";
export {
  callsSeen,
  damagedIn,
  describeSession,
  describeWhole,
  type Step,
  type WalkedCall,
  type WalkedExec,
  type WalkedSession,
  walk,
} from "./describe.ts";
export { describeExecs } from "./execs.ts";
export { openStore, type SessionStore } from "./session-store.ts";
