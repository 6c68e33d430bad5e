import type { ErrorCode } from "../../runtime/index.ts";
import type { SyncStore } from "./sqlite.ts";

/** Names of the store's methods. */
export type Method = Exclude<keyof SyncStore, symbol>;

export type Arguments<Name extends Method> = Parameters<SyncStore[Name]>;

/** To the store's thread: a call of a method, or `close`. */
export type Request =
  | { [Name in Method]: { readonly id: number; readonly method: Name; readonly args: Arguments<Name> } }[Method]
  | { readonly id: number; readonly method: "close"; readonly args: readonly [] };

/** From the store's thread, in the order of the requests. Id 0 stands for opening it. */
export type Answer<Value = unknown> =
  | { readonly id: number; readonly ok: true; readonly value: Value }
  | { readonly id: number; readonly ok: false; readonly error: SentError };

/** An RlmError on its way between threads. */
export interface SentError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly suggestion: string;
}

/** What the thread is started with. */
export interface StoreSetup {
  /** Null: in memory. */
  readonly folder: string | null;
}
