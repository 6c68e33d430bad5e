import type { Server } from "@modelcontextprotocol/server";
import { type Clock, systemClock } from "../../runtime/index.ts";
import { errorName } from "../platform/errors.ts";
import { joinSignals, WORK_ON } from "../platform/signals.ts";
import type { Calls, CallsParts } from "./calls.ts";
import type { AskedSession, ConnectionParts } from "./connection.ts";
import type { Shutdown } from "./shutdown.ts";

/** Parts of a server. */
export interface ServerParts extends Pick<CallsParts, "source" | "tools" | "limits"> {
  readonly version: string;
  readonly shutdown: Shutdown;
  /** Default: that of the system. */
  readonly clock?: Clock;
  /** Takes one line for people, without contents. */
  note(line: string): void;
}

/** The session of Belay's in which a client works. */
export interface ClientSession {
  readonly suspend: AbortSignal;
  /** @param server through which the first call came */
  calls(server: Server): Promise<Calls>;
  /** null: no call has come. */
  current(): Calls | null;
  /** Stops what runs where it is, and closes the session. Never rejects. */
  end(): Promise<void>;
}

/**
 * Opens nothing before the first call.
 *
 * @param rootsOf asks a client for its folders. One elsewhere names none: those of --root count,
 * else the working folder
 */
export function openClientSession(
  parts: ServerParts,
  asked: AskedSession,
  rootsOf: (server: Server) => ReturnType<ConnectionParts["askRoots"]> = async () => null,
): ClientSession {
  const { source, tools, limits, shutdown, clock = systemClock } = parts;
  const leave = new AbortController();
  const left = joinSignals(shutdown.suspend, leave.signal);
  let opened: Promise<Calls> | null = null;
  let current: Calls | null = null;
  return {
    suspend: left.signal,
    calls(server) {
      const askRoots = () => rootsOf(server);
      opened ??= import("./calls.ts").then(({ openCalls }) => {
        current = openCalls({ source, tools, limits, clock, suspend: left.signal, askRoots, ...asked });
        return current;
      });
      return opened;
    },
    current: () => current,
    async end() {
      leave.abort(WORK_ON);
      left[Symbol.dispose]();
      try {
        await (await opened)?.[Symbol.asyncDispose]();
      } catch (error) {
        parts.note(`a session could not be closed (${errorName(error)})`);
      }
    },
  };
}
