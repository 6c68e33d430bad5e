import { systemClock } from "../../runtime/index.ts";
import { errorName } from "../platform/errors.ts";
import { joinSignals } from "../platform/signals.ts";
import type { Calls } from "./calls.ts";
import type { AskedSession } from "./connection.ts";
import type { ServerParts } from "./serve.ts";

/** The session of Belay's in which a client over HTTP works. */
export type ClientSession = ReturnType<typeof openClientSession>;

/** Opens nothing before the first call. */
export function openClientSession(parts: ServerParts, asked: AskedSession) {
  const { source, tools, limits, leaving, clock = systemClock } = parts;
  const leave = new AbortController();
  const left = joinSignals(leaving.suspend, leave.signal);
  let opened: Promise<Calls> | null = null;
  let current: Calls | null = null;
  return {
    suspend: left.signal,
    calls(): Promise<Calls> {
      // A client elsewhere names no folders: those of --root count, else the working folder.
      const askRoots = async () => null;
      opened ??= import("./calls.ts").then(({ openCalls }) => {
        current = openCalls({ source, tools, limits, clock, suspend: left.signal, askRoots, ...asked });
        return current;
      });
      return opened;
    },
    isBusy: () => current?.runs.current() != null,
    /** Stops what runs where it is, and closes the session. Never rejects. */
    async end(): Promise<void> {
      leave.abort();
      left[Symbol.dispose]();
      try {
        await (await opened)?.[Symbol.asyncDispose]();
      } catch (error) {
        parts.note(`a session could not be closed (${errorName(error)})`);
      }
    },
  };
}
