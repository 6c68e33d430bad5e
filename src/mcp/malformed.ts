import { INVALID_REQUEST, isJSONRPCNotification, isJSONRPCRequest, PARSE_ERROR } from "@modelcontextprotocol/server";
import { isRecord } from "../platform/json.ts";

/** The error that answers a message which cannot be handled. */
export interface MessageError {
  readonly jsonrpc: "2.0";
  /** null: the message has no id that could be repeated. */
  readonly id: string | number | null;
  readonly error: { readonly code: number; readonly message: string };
}

/** As the SDK has it for batches over HTTP. */
const MOST_MESSAGES = 100;

/**
 * Errors with which a line or a body of a client is answered in place of being handled; none if it is well formed.
 *
 * @param value undefined: it is not JSON
 * @param batches a batch without a malformed message is "served" or "refused"
 */
export function refusalsOf(value: unknown, batches: "served" | "refused"): readonly MessageError[] {
  if (value === undefined) return [messageError(null, "the message is not valid JSON", PARSE_ERROR)];
  if (!Array.isArray(value)) return [malformed(value)].filter((error) => error !== null);
  if (value.length === 0 || value.length > MOST_MESSAGES)
    return [messageError(null, `a batch has 1 to ${MOST_MESSAGES} messages, and this one has ${value.length}`)];
  if (batches === "served" && value.every((message) => malformed(message) === null)) return [];
  const errors = value.map((message) => malformed(message) ?? messageError(idOf(message), NOT_READ));
  const withIds = errors.filter(({ id }) => id !== null);
  return withIds.length > 0 ? withIds : errors.slice(0, 1);
}

const NOT_READ = "this batch was not read: send each of its messages by itself";

/** An error that repeats an id, if it is a text or a number. */
export function messageError(id: unknown, message: string, code = INVALID_REQUEST): MessageError {
  const isId = typeof id === "string" || typeof id === "number";
  return { jsonrpc: "2.0", id: isId ? id : null, error: { code, message } };
}

function idOf(message: unknown): unknown {
  return isRecord(message) ? message.id : null;
}

/** The error for one message; null if it is well formed, or an answer: answers are never answered. */
function malformed(message: unknown): MessageError | null {
  if (isJSONRPCRequest(message) || isJSONRPCNotification(message)) return null;
  if (isRecord(message) && !("method" in message) && ("result" in message || "error" in message)) return null;
  return messageError(idOf(message), `the message is malformed: ${problemOf(message)}`);
}

function problemOf(message: unknown): string {
  if (!isRecord(message)) return "it is not a JSON object";
  const { jsonrpc, id, method, params } = message;
  if (jsonrpc !== "2.0") return 'jsonrpc must be "2.0"';
  if (typeof method !== "string") return "method must be a text";
  if ("id" in message && typeof id !== "string" && !Number.isSafeInteger(id)) return "id must be a text or an integer";
  if ("params" in message && !isRecord(params)) return "params must be an object; leave it out if there are none";
  return "it has fields beside jsonrpc, id, method and params, or its _meta is not as the protocol has it";
}
