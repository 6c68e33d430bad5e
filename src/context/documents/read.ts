import { basename, join } from "node:path";
import { LIMITS } from "../../../runtime/index.ts";
import { type Asked, readInChild } from "./children.ts";
import type { Converted } from "./converted.ts";
import { withCopy } from "./copies.ts";
import { openKeptTexts, textKey } from "./kept.ts";
import { extensionOf, type FileKind, kindOf } from "./kinds.ts";
import type { Answer } from "./messages.ts";
import { ownReader, readByOwn } from "./own.ts";
import { allReaders, readerOf } from "./packages.ts";

/** The user's converters by extension: arguments, of which `{}` is the path of a copy; false: as it is; true: in a repository too. */
export type Converters = Readonly<Record<string, readonly string[] | boolean>>;

/** Which files load, and how documents become text. */
export interface DocumentOptions {
  /** Loads files of a folder that may contain secrets, by their names (default false). */
  readonly secrets?: boolean;
  /** Loads files as they are (default false). */
  readonly raw?: boolean;
  readonly convert?: Converters;
  /** Folder that keeps converted texts for later loads. */
  readonly keptIn?: string;
}

/** The way in which a file becomes text. */
export type Way =
  | { readonly kind: FileKind /** Extensions of members that stay as they are. */; readonly plain: readonly string[] }
  | { readonly argv: readonly string[] };

/** The way in which a file becomes text, by its first bytes and its name; null: it is a text already. HTML is source in a repository. */
export function wayOf(
  head: Uint8Array,
  name: string,
  isInRepository: () => boolean,
  { raw = false, convert = {} }: DocumentOptions,
): Way | null {
  const extension = extensionOf(name);
  const setting = Object.hasOwn(convert, extension) ? convert[extension] : undefined;
  if (raw || setting === false) return null;
  if (typeof setting === "object") return { argv: setting };
  const kind = kindOf(head, name);
  if (kind === null || (kind === "html" && setting !== true && isInRepository())) return null;
  return { kind, plain: mayHold(kind) ? plainIn(convert, isInRepository()) : [] };
}

const MARKUP = ["htm", "html", "xhtml"];

function plainIn(convert: Converters, isInRepository: boolean): string[] {
  const left = Object.keys(convert).filter((extension) => convert[extension] === false);
  return [...left, ...MARKUP.filter((extension) => isInRepository && convert[extension] !== true)].sort();
}

/** True for an archive, packed or not: it may need any reader. */
const mayHold = (kind: FileKind) => kind === "zip" || kind === "gz" || kind === "zst" || kind === "tar";

/** An original that was read whole. */
export interface OriginalFile {
  readonly way: Way;
  readonly bytes: Uint8Array;
  /** The log of a database that stands beside it. */
  readonly wal?: Uint8Array;
}

/** A document that came of an original. `name` is that of the original, or of the archive's member. */
export interface ReadDocument extends Partial<Omit<Converted, "text">> {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** The documents of an original, and what was refused: those of an archive are its members. */
export interface Read extends Pick<Answer, "isArchive" | "refused"> {
  readonly documents: readonly ReadDocument[];
}

/** Reads an original: from the texts that are kept, or in a process. @throws Unreadable; RlmError `cancelled` */
export async function readOriginal(
  name: string,
  original: OriginalFile,
  { keptIn }: DocumentOptions,
  asked: Asked,
): Promise<Read> {
  const { way, bytes, wal } = original;
  const isOwn = "argv" in way;
  const reader = isOwn ? ownReader(way.argv) : mayHold(way.kind) ? allReaders() : readerOf(way.kind);
  // The first extension of `a.html.gz` tells its content.
  const facts = isOwn
    ? [reader, extensionOf(name)]
    : [reader, way.kind, extensionOf(name.replace(/\.(gz|zst|zstd)$/i, "")), ...way.plain];
  const kept = keptIn === undefined ? null : openKeptTexts(keptIn);
  const key = await textKey(facts, wal ? [bytes, wal] : [bytes]);
  const known = kept?.find(key);
  const answer = known ?? (await converted(basename(name), original, asked));
  if (!known) kept?.keep(key, answer);
  const documents = answer.texts.map(({ text, original: from, ...found }) => ({
    ...{ ...found, bytes: text },
    ...(from ? { original: { ...from, reader: isOwn ? reader : readerOf(from.kind) } } : {}),
  }));
  return { isArchive: answer.isArchive, documents, refused: answer.refused };
}

/** Ids of all that decides what texts a load with these options makes of its files. */
export function readersOf({ raw = false, secrets = false, convert = {} }: DocumentOptions): string {
  const own = readersById(raw, convert);
  return secrets ? `${own} with secrets` : own;
}

function readersById(raw: boolean, convert: Converters): string {
  if (raw) return "raw";
  const own = Object.entries(convert).map(([extension, way]) => [
    extension,
    typeof way === "object" ? ownReader(way) : way,
  ]);
  return JSON.stringify([allReaders(), own.sort()]);
}

async function converted(name: string, { way, bytes, wal }: OriginalFile, asked: Asked): Promise<Answer> {
  const room = LIMITS.contextBytes;
  if ("argv" in way) {
    const text = await readByOwn(way.argv, { name, bytes, room }, asked);
    return { isArchive: false, texts: [text], refused: [] };
  }
  const job = { name, ...way, room };
  if (way.kind !== "sqlite") return readInChild(bytes, job, asked);
  // SQLite reads files only.
  const copy = "original.sqlite";
  return withCopy({ [copy]: bytes, ...(wal ? { [`${copy}-wal`]: wal } : {}) }, (folder) =>
    readInChild(bytes, { ...job, file: join(folder, copy) }, asked),
  );
}
