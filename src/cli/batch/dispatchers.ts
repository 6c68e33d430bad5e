import { type Dispatcher, openInProcess } from "../../jobs/index.ts";

/** A queue with what hands its tickets out. */
export interface OpenDispatcher extends AsyncDisposable {
  readonly name: string;
  readonly dispatcher: Dispatcher;
}

/** In a folder this process hands out the tickets. */
export function openDispatcher(name: string): OpenDispatcher {
  const dispatcher = openInProcess();
  return { name, dispatcher, [Symbol.asyncDispose]: () => dispatcher[Symbol.asyncDispose]() };
}
