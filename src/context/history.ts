import { createHash } from "node:crypto";
import type { Context, ContextPart, Document, Pause } from "./context.ts";
import { textFromPartsInSlices } from "./text/text.ts";

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

/** The id of the document that the message with this place in the conversation becomes: `history/0012-read`. */
function historyId(index: number, { role, tool }: Pick<HistoryMessage, "role" | "tool">): string {
  const name = (tool ?? role).replaceAll(/[^\w.-]/g, "_").slice(0, NAME_UNITS);
  return `history/${String(index + 1).padStart(4, "0")}-${name}`;
}

const NAME_UNITS = 64;

/**
 * A conversation as a context: a document and a part for each message, with a line end between two. The parts of a
 * conversation that goes on begin with those that it had.
 */
export async function historyContext(messages: readonly HistoryMessage[], pause: Pause): Promise<Context> {
  const pieces = messages.map((message, index) => {
    const separator = Buffer.from(index === 0 ? "" : "\n");
    return { separator, bytes: Buffer.from(messageText(message)), id: historyId(index, message) };
  });
  const text = await textFromPartsInSlices(
    pieces.flatMap(({ separator, bytes }) => [separator, bytes]),
    pause,
  );
  const all = createHash("sha256");
  const parts: ContextPart[] = [];
  const documents: Document[] = [];
  let at = 0;
  for (const { id, separator, bytes } of pieces) {
    const part = Buffer.concat([separator, bytes]);
    all.update(part);
    parts.push({ hash: createHash("sha256").update(part).digest("hex"), bytes: part.length });
    const start = text.unitAt(at + separator.length);
    at += part.length;
    const end = text.unitAt(at);
    documents.push({ id, path: "-", start, end, size: end - start });
    await pause(part.length);
  }
  const hash = all.digest("hex");
  return { hash, text, parts, documents, routes: [], stats: statsOf(hash, text, documents.length) };
}

function statsOf(hash: string, { data: { bytes }, length }: Context["text"], documents: number): Context["stats"] {
  const lines = bytes.reduce((sum, byte) => sum + (byte === NEWLINE ? 1 : 0), 0);
  return {
    length_chars: length,
    length_tokens_estimate: Math.floor(length / 4),
    line_count: lines + (bytes.length > 0 && bytes.at(-1) !== NEWLINE ? 1 : 0),
    document_count: documents,
    has_routing: false,
    routing_entry_count: 0,
    sources: ["history"],
    context_hash: hash,
    skipped: { count: 0, files: [], reasons: {} },
  };
}

const NEWLINE = 0x0a;
