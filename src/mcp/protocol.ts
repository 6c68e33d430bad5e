/** The field of a request's `_meta` with the key of the call. */
export const CALL_KEY = "belay/idempotencyKey";

/** Before a key, it stands in place of the id of the exec that the call with this key began. */
export const OF_CALL = "call:";

/** Resources that a client may read beside the answers of tools. Nothing is subscribed. */
export const SESSION_RESOURCE = {
  uri: "belay://session",
  name: "session",
  title: "RLM session",
  description: "The session: context, budget and its execs",
  mimeType: "application/json",
} as const;
