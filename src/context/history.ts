import { createHash, hash as digest, type Hash } from "node:crypto";
import type { Context, ContextPart, Document, SmallContext } from "./context.ts";
import type { Pause } from "./pauses.ts";
import { NOTHING_SKIPPED } from "./skipped.ts";
import { sharedBytes, textFromParts } from "./text/text.ts";

/** A message of a conversation, whatever host it is from. */
export interface HistoryMessage {
  /** `user`, `assistant` and the like. */
  readonly role: string;
  /** The tool whose result it is; null for other messages. */
  readonly tool: string | null;
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly args: unknown }[];
  readonly images: readonly { readonly type: string; readonly bytes: number }[];
}

/** A message as text: what it says, then a line for each call and each image. */
export function messageText({ text, calls, images }: Pick<HistoryMessage, "text" | "calls" | "images">): string {
  return [
    ...(text === "" ? [] : [text]),
    ...calls.map(({ name, args }) => `→ ${name}(${JSON.stringify(args) ?? ""})`),
    ...images.map(({ type, bytes }) => `[${type}, ${Math.max(1, Math.round(bytes / 1000))} KB]`),
  ].join("\n");
}

/**
 * The id of the document that the message with this place in the conversation becomes:
 * `history/0012-read`.
 */
function historyId(index: number, { role, tool }: Pick<HistoryMessage, "role" | "tool">): string {
  const name = (tool ?? role).replaceAll(/[^\w.-]/g, "_").slice(0, NAME_UNITS);
  return `history/${String(index + 1).padStart(4, "0")}-${name}`;
}

const NAME_UNITS = 64;

/**
 * A conversation as a context: a document and a part for each message, with a line end between two.
 * The parts of a conversation that continues begin with those that it had.
 */
export function historyContext(messages: readonly HistoryMessage[], pause: Pause): Promise<SmallContext> {
  return growingHistory()(messages, pause);
}

/**
 * Makes contexts of a conversation as it continues. The same messages, at its beginning, are not
 * worked on again.
 */
export function growingHistory(): typeof historyContext {
  let grown = nothingYet();
  let last: Promise<unknown> = Promise.resolve();

  async function contextOf(messages: readonly HistoryMessage[], pause: Pause): Promise<SmallContext> {
    if (!grown.messages.every((one, n) => one === messages[n])) grown = nothingYet();
    for (const message of messages.slice(grown.messages.length)) {
      await pause(append(grown, message));
    }
    const bytes = grown.bytes.subarray(0, grown.used);
    const text = await textFromParts([bytes], pause);
    const hash = grown.digest.copy().digest("hex");
    const parts = [...grown.parts];
    const documents = [...grown.documents];
    // A conversation has no sources, ids or paths but those that follow from its text.
    return { hash, key: hash, text, parts, documents, routes: [], skips: [], stats: statsOf(hash, grown) };
  }

  return (messages, pause) => {
    const made = last.then(() => contextOf(messages, pause));
    last = made.catch(() => {});
    return made;
  };
}

interface Grown {
  readonly messages: HistoryMessage[];
  readonly parts: ContextPart[];
  readonly documents: Document[];
  /** Shared memory, with room behind what is used. */
  bytes: Uint8Array<ArrayBufferLike>;
  /** Bytes. */
  used: number;
  /** UTF-16 units. */
  units: number;
  newlines: number;
  /** SHA-256 of all bytes. */
  readonly digest: Hash;
}

/**
 * A conversation up to some message. Contexts that were made of it keep their bytes: others are
 * only put behind them.
 */
function nothingYet(): Grown {
  const messages: HistoryMessage[] = [];
  const parts: ContextPart[] = [];
  const documents: Document[] = [];
  return {
    messages,
    parts,
    documents,
    bytes: sharedBytes(0),
    used: 0,
    units: 0,
    newlines: 0,
    digest: createHash("sha256"),
  };
}

/** Puts a message behind the others. Returns the bytes that it took. */
function append(grown: Grown, message: HistoryMessage): number {
  const index = grown.messages.length;
  const separator = index === 0 ? "" : "\n";
  const text = messageText(message);
  const part = Buffer.from(separator + text);
  const end = grown.used + part.length;
  if (end > grown.bytes.length) {
    const wider = sharedBytes(Math.ceil(end * ROOM));
    wider.set(grown.bytes.subarray(0, grown.used));
    grown.bytes = wider;
  }
  grown.bytes.set(part, grown.used);
  grown.digest.update(part);
  const start = grown.units + separator.length;
  grown.documents.push({
    id: historyId(index, message),
    path: "-",
    start,
    end: start + text.length,
    size: text.length,
  });
  grown.parts.push({ hash: digest("sha256", part), bytes: part.length });
  grown.messages.push(message);
  grown.used = end;
  grown.units = start + text.length;
  grown.newlines += separator.length + text.split("\n").length - 1;
  return part.length;
}

/** The factor by which more memory is taken than is needed, so that most messages find room. */
const ROOM = 1.25;

function statsOf(hash: string, { bytes, used, units, newlines, documents }: Grown): Context["stats"] {
  return {
    length_chars: units,
    length_tokens_estimate: Math.floor(units / 4),
    line_count: newlines + (used > 0 && bytes[used - 1] !== NEWLINE ? 1 : 0),
    document_count: documents.length,
    has_routing: false,
    routing_entry_count: 0,
    sources: ["history"],
    context_hash: hash,
    skipped: NOTHING_SKIPPED,
  };
}

const NEWLINE = 0x0a;
