import { loadAsks } from "./asks.ts";
import { openSessionWith, type Session, type SessionOptions } from "./session/index.ts";

/**
 * Opens a session: a new one, or with `store` and `session` the one that is kept there under this name.
 *
 * @throws RlmError `session_busy` if another process has it, `context_lost`, `store_failed`, `store_corrupt`,
 * `store_too_new`, `invalid_argument`
 */
export function openSession(options: SessionOptions = {}): Promise<Session> {
  return openSessionWith(options, { asks: loadAsks });
}
