import { isUtf8 } from "node:buffer";
import { Transform } from "node:stream";
import { INVALID_REQUEST, isJSONRPCNotification, isJSONRPCRequest, PARSE_ERROR } from "@modelcontextprotocol/server";
import type { Json } from "../../runtime/index.ts";
import { isRecord, parseJson } from "../platform/json.ts";
import { propertiesIn, propertiesWritten } from "../platform/written-json.ts";

/** The error that answers a message which cannot be handled. */
interface MessageError {
  readonly jsonrpc: "2.0";
  /** null: the message has no id that could be repeated. */
  readonly id: string | number | null;
  readonly error: { readonly code: number; readonly message: string };
}

/** As the SDK has it for batches over HTTP. */
const MOST_MESSAGES = 100;

/**
 * Errors with which a line or a body of a client is answered in place of being handled; none if it
 * is well formed.
 *
 * @param value undefined: it is not JSON
 * @param json its text
 * @param batches a batch without a malformed message is "served" or "refused"
 */
export function refusalsOf(
  value: Json | undefined,
  json: string,
  batches: "served" | "refused",
): readonly MessageError[] {
  if (value === undefined) return [messageError(null, "the message is not valid JSON in UTF-8", PARSE_ERROR)];
  const problem = isAmbiguous(value, json) ? AMBIGUOUS : null;
  if (!Array.isArray(value)) return [malformed(value, problem)].filter((error) => error !== null);
  if (value.length === 0 || value.length > MOST_MESSAGES)
    return [messageError(null, `a batch has 1 to ${MOST_MESSAGES} messages, and this one has ${value.length}`)];
  if (batches === "served" && value.every((message) => malformed(message, problem) === null)) return [];
  const errors = value.map((message) => malformed(message, problem) ?? messageError(idOf(message), NOT_READ));
  const withIds = errors.filter(({ id }) => id !== null);
  return withIds.length > 0 ? withIds : errors.slice(0, 1);
}

const AMBIGUOUS = "an object has two properties of one name, of which only one would count";

/** True if an object of the JSON has two properties of one name. */
function isAmbiguous(value: Json, json: string): boolean {
  const properties = propertiesIn(value);
  return properties !== null && propertiesWritten(json) > properties;
}

const NOT_READ = "this batch was not read: send each of its messages by itself";

/** An error that repeats an id, if it is a text or a number. */
function messageError(id: unknown, message: string, code = INVALID_REQUEST): MessageError {
  const isId = typeof id === "string" || typeof id === "number";
  return { jsonrpc: "2.0", id: isId ? id : null, error: { code, message } };
}

function idOf(message: unknown): unknown {
  return isRecord(message) ? message.id : null;
}

/**
 * The error for one message; null if it is well formed, or an answer: answers are never answered.
 *
 * @param problem what is wrong with it by its text
 */
function malformed(message: unknown, problem: string | null): MessageError | null {
  const isRead = isJSONRPCRequest(message) || isJSONRPCNotification(message);
  if (isRead && problem === null) return null;
  if (isRecord(message) && !("method" in message) && ("result" in message || "error" in message)) return null;
  return messageError(idOf(message), `the message is malformed: ${isRead ? problem : problemOf(message)}`);
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

/** A message of a client is one line. One that is longer than this is skipped, bytes. */
export const LINE_BYTES = 10_000_000;

const NEWLINE = 0x0a;

/**
 * Hands on the lines that hold a message. What is malformed or too long is answered in its place;
 * of a line that is too long nothing is kept.
 *
 * @param answer writes lines for the client, and calls `done` when they are written: no more is
 * read before that
 */
export function boundedLines(answer: (lines: string, done: () => void) => void): Transform {
  let pieces: Buffer[] = [];
  let length = 0;
  let frame = openFrame();

  function add(piece: Buffer): void {
    length += piece.length;
    frame.add(piece);
    if (length > LINE_BYTES) pieces = [];
    else pieces.push(piece);
  }

  /** The line that has ended, if it is to be handed on, and the errors that it is answered with. */
  function ended(): { readonly line: string; readonly errors: readonly MessageError[] } {
    const bytes = Buffer.concat(pieces);
    const line = bytes.toString("utf8").replace(/^\ufeff/, "");
    const errors = length > LINE_BYTES ? tooLong(frame.read()) : errorsOf(line, isUtf8(bytes));
    pieces = [];
    length = 0;
    frame = openFrame();
    return { line, errors };
  }

  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      let answers = "";
      for (let at = 0; at < chunk.length; ) {
        const end = chunk.indexOf(NEWLINE, at);
        add(chunk.subarray(at, end === -1 ? chunk.length : end));
        if (end === -1) break;
        const { line, errors } = ended();
        if (errors.length === 0) this.push(`${line}\n`);
        for (const error of errors) answers += `${JSON.stringify(error)}\n`;
        at = end + 1;
      }
      if (answers === "") done();
      else answer(answers, () => done());
    },
  });
}

function errorsOf(line: string, isWhole: boolean): readonly MessageError[] {
  if (line.trim() === "") return [];
  if (isWhole) return refusalsOf(parseJson(line), line, "refused");
  return [messageError(idOf(parseJson(line)), "the message is not UTF-8, as JSON is", PARSE_ERROR)];
}

/** The error for a message that was skipped, if it wants an answer. */
function tooLong(message: unknown): readonly MessageError[] {
  const { id, method }: { id?: unknown; method?: unknown } = Object(message);
  const isRead = message !== undefined;
  if (isRead && (typeof method !== "string" || !(typeof id === "string" || typeof id === "number"))) return [];
  const text = `the message is longer than ${LINE_BYTES} bytes, the limit of a line, and was not read: name a path, or send less at once`;
  return [messageError(id, text)];
}

const FRAME_BYTES = 4_000;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const ZERO = 0x30;
// Braces and brackets differ in one bit.
const isOpen = (byte: number) => (byte | 0x20) === 0x7b;
const isClose = (byte: number) => (byte | 0x20) === 0x7d;

/**
 * The frame of a JSON-RPC message, its id and method, gathered from bytes as they come. What is
 * within it is left out.
 */
function openFrame() {
  const kept: number[] = [];
  let depth = 0;
  let isText = false;
  let isEscaped = false;

  /** The byte that stands for this one in the frame; null: none does. */
  function placeOf(byte: number): number | null {
    if (isText) {
      isText = isEscaped || byte !== QUOTE;
      isEscaped = !isEscaped && byte === BACKSLASH;
    } else if (byte === QUOTE) isText = true;
    else if (isOpen(byte)) return ++depth === 1 ? byte : depth === 2 ? ZERO : null;
    else if (isClose(byte)) return --depth === 0 ? byte : null;
    return depth === 1 ? byte : null;
  }

  return {
    add(piece: Buffer): void {
      // An iterator would take several times as long.
      for (let at = 0; at < piece.length; at++) {
        const place = placeOf(piece[at] ?? 0);
        if (place !== null && kept.length < FRAME_BYTES) kept.push(place);
      }
    },
    /**
     * The message with 0 instead of each list and object in it; undefined if it is not valid JSON.
     */
    read: () => parseJson(Buffer.from(kept).toString("utf8")),
  };
}

/** A refusal over HTTP in the form that clients of MCP read. */
export function refusal(status: number, message: string, headers: Readonly<Record<string, string>> = {}): Response {
  return Response.json({ jsonrpc: "2.0", id: null, error: { code: -32000, message } }, { status, headers });
}
