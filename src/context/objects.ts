import { createHash, hash as digest } from "node:crypto";
import { RlmError } from "../../runtime/index.ts";
import { nearest } from "../platform/nearest.ts";
import type { Context, Document } from "./context.ts";
import type { Pause } from "./pauses.ts";

/**
 * A context whose documents can be named by ids of their texts: the history of a conversation, or
 * what was loaded.
 */
export interface ObjectSource {
  readonly of: "history" | "P";
  readonly context: Pick<Context, "text" | "documents">;
}

/** A document in its context. */
interface SourceDocument extends ObjectSource {
  readonly document: Document;
}

/** A document that tools can name. */
export interface TextObject extends SourceDocument {
  /** The id of its text; of a document of a large context its own, as nobody waits for all of that to be read. */
  readonly id: string;
}

/**
 * The id of a text: `rlm-obj-` and 12 hex digits. Equal texts have equal ids; a lone surrogate
 * counts as U+FFFD.
 */
export function objectId(text: string): string {
  return idOf(digest("sha256", text.toWellFormed()));
}

/** The document with its id. A document of a context in memory is read once for it. */
export async function objectOf(at: SourceDocument, pause: Pause): Promise<TextObject> {
  return { ...at, id: at.context.text.large ? at.document.id : idOf(await hashOf(at, pause)) };
}

/**
 * Returns the object of an id, of a beginning of one with at least 6 digits, or of a document's id.
 * If several documents have the text, it is the first one. Those of a large context have only their
 * own ids.
 *
 * @throws RlmError `object_not_found` with near ids, or `object_ambiguous` with the objects that
 * are meant
 */
export async function findObject(sources: readonly ObjectSource[], id: string, pause: Pause): Promise<TextObject> {
  const small = sources.filter(({ context }) => !context.text.large);
  const all = small.flatMap((source) => [...source.context.documents].map((document) => ({ ...source, document })));
  const named = all.filter(({ document }) => document.id === id);
  const large = named.length === 0 ? inTables(sources, id) : null;
  if (large) return large;
  const digits = DIGITS.exec(id)?.[1]?.toLowerCase();
  if (named.length === 0 && digits === undefined) throw notFound(id, all);
  const texts = new Map<string, SourceDocument>();
  const near = new Set<string>();
  for (const at of named.length > 0 ? named : all) {
    const hash = await hashOf(at, pause);
    if (named.length > 0 || hash.startsWith(digits ?? "")) texts.set(hash, texts.get(hash) ?? at);
    else if (hash.slice(0, NEAR_DIGITS) === digits?.slice(0, NEAR_DIGITS)) near.add(idOf(hash));
  }
  const [found, ...others] = texts;
  if (!found) throw unknown(id, [...near]);
  if (others.length > 0) throw ambiguous(id, [found, ...others]);
  return { ...found[1], id: idOf(found[0]) };
}

/** The document of a large context that has this id; null: none has. */
function inTables(sources: readonly ObjectSource[], id: string): TextObject | null {
  for (const source of sources) {
    const document = source.context.text.large?.documents().named(id);
    if (document) return { ...source, document, id };
  }
  return null;
}

const PREFIX = "rlm-obj-";
const ID_DIGITS = 12;
/** A beginning of an id that is as long as it has to be. */
const DIGITS = /^(?:rlm-obj-)?([0-9a-f]{6,12})$/i;
const NEAR_DIGITS = 4;

function idOf(hash: string): string {
  return PREFIX + hash.slice(0, ID_DIGITS);
}

/** Bytes that are hashed without a pause. */
const SLICE_BYTES = 1024 * 1024;
/** Digests of documents: they never change, and an append keeps them. */
const hashes = new WeakMap<Document, string>();

/** SHA-256 of the document's UTF-8, hex. It is read piece by piece. */
export async function hashOf({ context: { text }, document }: SourceDocument, pause: Pause): Promise<string> {
  const known = hashes.get(document);
  if (known !== undefined) return known;
  const digest = createHash("sha256");
  const end = text.byteAt(document.end);
  for (let at = text.byteAt(document.start); at < end; at += SLICE_BYTES) {
    const slice = text.read(at, Math.min(at + SLICE_BYTES, end));
    digest.update(slice);
    await pause(slice.length);
  }
  const hash = digest.digest("hex");
  hashes.set(document, hash);
  return hash;
}

const SHOWN = 5;
/** Names that are compared with one that was not found. */
const COMPARED = 5_000;

function notFound(id: string, all: readonly SourceDocument[]): RlmError {
  const short = /^(?:rlm-obj-)?[0-9a-f]{1,5}$/i.test(id);
  if (short) return missing(`${id} is too short`, "Give at least 6 digits of the id.");
  const meant = nearest(
    id,
    all.slice(0, COMPARED).map(({ document }) => document.id),
  );
  return unknown(id, meant === undefined ? [] : [meant]);
}

function unknown(id: string, near: readonly string[]): RlmError {
  const meant = near.length === 0 ? "" : `; did you mean ${near.slice(0, SHOWN).join(" or ")}?`;
  return missing(`object ${id} not found on this branch${meant}`, "Find it with rlm_search.");
}

function missing(message: string, suggestion: string): RlmError {
  return new RlmError("object_not_found", message, { suggestion });
}

function ambiguous(id: string, texts: readonly (readonly [hash: string, at: SourceDocument])[]): RlmError {
  const shown = texts.slice(0, SHOWN).map(([hash, { of, document }]) => `${idOf(hash)} (${of}: ${document.id})`);
  const more = texts.length > SHOWN ? ` and ${texts.length - SHOWN} more` : "";
  return new RlmError("object_ambiguous", `${id} can be ${shown.join(", ")}${more}`, {
    suggestion: "Give more digits of the id, or the id of the document.",
  });
}
