import type { Clock } from "../../../runtime/index.ts";
import { UNCONNECTED } from "../../platform/outbound.ts";
import { joinSignals, sleep } from "../../platform/signals.ts";
import { failure, unsent } from "../failure.ts";
import type { SeenResponse } from "../pi-ai/response-watch.ts";
import type { Model, ModelAnswer } from "../port.ts";
import { saysRate } from "./refusal-kinds.ts";

/**
 * Decides how long calls wait for a server that has answered before and is away, and tells people
 * of it.
 */
export interface Patience {
  readonly clock: Clock;
  /** The longest wait since the server is away, ms; 0: none. */
  readonly mostMs: number;
  /** Models, `provider/id`, of which records have answers: their servers have answered before. */
  readonly answered: ReadonlySet<string>;
  /**
   * Tells that a model's first token is waited for, so many ms at the most, until the answer is
   * disposed of.
   */
  firstToken(model: string, mostMs: number): Disposable;
  /**
   * Does work that waits for a server, away since then on the clock's monotonic scale. No time of
   * calls passes meanwhile.
   */
  waiting<T>(server: string, since: number, work: () => Promise<T>): Promise<T>;
}

/**
 * True if a failed request says that its server is away: no connection, one that was reset, or a
 * gateway that has no server.
 */
export function isServerAway({ status, networkError, outbound }: SeenResponse, said: string): boolean {
  if (outbound) return outbound.isUnsent && outbound.retriable === true;
  if (status === null) return networkError !== null && (UNCONNECTED.test(networkError) || RESET.test(networkError));
  return NO_SERVER.has(status) && !saysRate(said) && !IS_BUSY.test(said);
}

const RESET = /ECONNRESET|EPIPE|UND_ERR_SOCKET/;
/** Statuses of gateways whose server is away, and of llama.cpp while it loads its model. */
const NO_SERVER: ReadonlySet<number> = new Set([502, 503, 504]);
/** Words of a server that is there, and has too much to do. */
const IS_BUSY = /overloaded|capacity/i;

interface Server {
  /** It has answered in this process. */
  hasAnswered: boolean;
  away: Away | null;
}

/**
 * All calls of a model that wait for its server share its times, so that one of them asks now and
 * then.
 */
interface Away {
  readonly since: number;
  /** When a request met it last. */
  seenAt: number;
  /** When one call may ask again, and the pause after that, ms. */
  nextAt: number;
  pauseMs: number;
  /** Aborted when the server has answered. */
  readonly isBack: AbortController;
}

const servers = new Map<string, Server>();

/**
 * The first pause between two requests to a server that is away, ms; it doubles up to the longest.
 */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5000;
/** A failure that comes so long after the one before is the beginning of another absence, ms. */
const FORGOTTEN_MS = 60_000;

/**
 * Sends a request. If its server has answered before and is away, it waits until the server is back
 * and sends again, as long as the patience lasts. A server that never answered is not waited for,
 * unless it says that it loads its model.
 *
 * @param send calls `begun` when an answer begins
 */
export async function sendPatiently(
  send: (begun: () => void) => Promise<ModelAnswer>,
  { id, server: address = id }: Pick<Model, "id" | "server">,
  patience: Patience | null,
  signal: AbortSignal,
): Promise<ModelAnswer> {
  if (!patience) return send(() => {});
  const { clock, mostMs, answered } = patience;
  // A gateway may have another server behind it for each model.
  const key = `${address} ${id}`;
  const server = servers.get(key) ?? { hasAnswered: false, away: null };
  servers.set(key, server);
  const hasAnswered = () => {
    server.hasAnswered = true;
    server.away?.isBack.abort();
    server.away = null;
  };
  let waitedMs = 0;
  const withWait = (answer: ModelAnswer) => (waitedMs >= 1 ? { ...answer, waitedMs: Math.round(waitedMs) } : answer);
  for (;;) {
    const isAway = server.away !== null;
    const from = clock.monotonic();
    const isTurn = await turn(server, address, patience, signal);
    // A busy process takes its time for a server that is there.
    if (isAway) waitedMs += clock.monotonic() - from;
    if (signal.aborted) return withWait(unsent(CANCELLED));
    const answer = await send(hasAnswered);
    if (answer.ok) hasAnswered();
    if (answer.ok || !answer.isAway || mostMs === 0) return withWait(answer);
    if (!server.hasAnswered && !answered.has(id) && !LOADS.test(answer.error.message)) return withWait(answer);
    const away = stillAway(server, clock.monotonic(), answer.retryAfterMs);
    if (!isTurn && leftOf(away, patience) <= 0) return withWait(givenUp(answer, patience));
  }
}

/** Words of llama.cpp and TGI in their first minutes. */
const LOADS = /loading model|(?:is|still|currently) loading/i;

const CANCELLED = failure("cancelled", "cancelled while waiting for the server");

/**
 * Resolves with true if the server is not known to be away, or if it is this call's turn to ask it;
 * false if the patience has run out.
 */
async function turn(server: Server, address: string, patience: Patience, signal: AbortSignal): Promise<boolean> {
  if (!server.away || leftOf(server.away, patience) <= 0) return server.away === null;
  return patience.waiting(address, server.away.since, async () => {
    for (;;) {
      const { away } = server;
      if (!away) return true;
      const { clock } = patience;
      const now = clock.monotonic();
      const left = leftOf(away, patience);
      if (left <= 0 || signal.aborted) return false;
      if (now >= away.nextAt) {
        away.nextAt = now + away.pauseMs;
        away.pauseMs = Math.min(2 * away.pauseMs, LONGEST_PAUSE_MS);
        return true;
      }
      using woken = joinSignals(signal, away.isBack.signal);
      await sleep(clock, Math.min(away.nextAt - now, left), woken.signal);
    }
  });
}

const leftOf = ({ since }: Away, { clock, mostMs }: Patience) => since + mostMs - clock.monotonic();

/**
 * Notes that a request has met the server away.
 *
 * @param retryAfterMs the server's wish, before which nobody asks again
 */
function stillAway(server: Server, now: number, retryAfterMs = 0): Away {
  const known = server.away && now - server.away.seenAt < FORGOTTEN_MS ? server.away : null;
  const away = known ?? {
    since: now,
    seenAt: now,
    nextAt: now + FIRST_PAUSE_MS,
    pauseMs: 2 * FIRST_PAUSE_MS,
    isBack: new AbortController(),
  };
  away.seenAt = now;
  away.nextAt = Math.max(away.nextAt, now + retryAfterMs);
  server.away = away;
  return away;
}

/** The answer after which nobody waits any more. Other calls fail in the same way. */
function givenUp(answer: Extract<ModelAnswer, { ok: false }>, { mostMs }: Patience): ModelAnswer {
  const { code, message, suggestion } = answer.error;
  const why = LOADS.test(message) ? "loads its model" : "answered before";
  const waited = `${message}; the server ${why}, and was waited for ${Math.round(mostMs / 1000)} s`;
  return {
    ...answer,
    ends: "run",
    error: failure("provider_error", waited, code === "provider_error" ? { suggestion } : {}),
  };
}
