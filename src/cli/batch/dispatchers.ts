import { RlmError } from "../../index.ts";
import { type Dispatcher, openInProcess } from "../../jobs/index.ts";
import type { RunStore } from "./run-store.ts";

/** A queue with what hands its tickets out. */
export interface OpenDispatcher extends AsyncDisposable {
  readonly name: string;
  readonly dispatcher: Dispatcher;
}

/** In a folder this process hands out the tickets; on a server pg-boss does. @param said told of what it has to say, for people */
export async function openDispatcher(
  { isServer, shown }: RunStore,
  name: string,
  _said: (text: string) => void,
): Promise<OpenDispatcher> {
  if (isServer) throw new RlmError("store_failed", `${shown}: no dispatcher for a server yet`, { suggestion: "" });
  const dispatcher = openInProcess();
  return { name, dispatcher, [Symbol.asyncDispose]: () => dispatcher[Symbol.asyncDispose]() };
}
