/** The field of a request's `_meta` with the key of the call. */
export const CALL_KEY = "belay/idempotencyKey";

/** Before a key, it stands in place of the id of the exec that the call with this key began. */
export const OF_CALL = "call:";
