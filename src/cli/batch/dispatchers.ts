import { type Dispatcher, openInProcess, openPgBoss } from "../../jobs/index.ts";
import type { RunStore } from "./run-store.ts";

/** A queue with what hands its tickets out. */
export interface OpenDispatcher extends AsyncDisposable {
  readonly name: string;
  readonly dispatcher: Dispatcher;
}

/**
 * In a folder this process hands out the tickets; on a server pg-boss does.
 *
 * @param said told what the queue complains of, for people
 * @throws RlmError `store_failed`, `store_too_new`
 */
export async function openDispatcher(
  { place, isServer }: RunStore,
  name: string,
  said: (text: string) => void,
): Promise<OpenDispatcher> {
  const dispatcher = isServer ? await openPgBoss({ url: place, queue: name, log: said }) : openInProcess();
  return { name, dispatcher, [Symbol.asyncDispose]: () => dispatcher[Symbol.asyncDispose]() };
}
