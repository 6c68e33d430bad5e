import { availableParallelism } from "node:os";
import { extname } from "node:path";
import type { Decoding } from "../context/text/decode.ts";

// A load without documents needs this file. Readers are imported when a file is to become text.

/**
 * Kinds that the first bytes of a file tell, or its extension. A `zip` may turn out to be a file of
 * an office suite.
 */
export const FILE_KINDS = [
  ...(["pdf", "html", "ipynb", "eml", "mbox", "sqlite", "parquet"] as const),
  ...(["zip", "tar", "gz", "zst", "ole", "rtf"] as const),
] as const;
export type FileKind = (typeof FILE_KINDS)[number];

/** Kinds, with those of documents that are told apart within a zip or an OLE file. */
export type Kind = FileKind | "docx" | "pptx" | "xlsx" | "odt" | "ods" | "odp" | "odg" | "epub" | "msg";

/** Extensions of documents that are otherwise known by their first bytes. */
const BY_CONTENT = new Set(["pdf", "docx", "pptx", "xlsx", "odt", "ods", "odp", "odg", "epub", "zip"]);

/** A larger original is refused. */
export const MOST_ORIGINAL_BYTES = 256 * 2 ** 20;

/**
 * The kind of a document or archive by the first bytes of the file, or else by its extension; null:
 * it is a text or unknown.
 */
export function kindOf(head: Uint8Array, name: string): FileKind | null {
  const start = Buffer.from(head.buffer, head.byteOffset, Math.min(head.length, 1024)).toString("latin1");
  const extension = extensionOf(name);
  const begins = (magic: string, at = 0) => start.startsWith(magic, at);
  if (begins("%PDF-") || (extension === "pdf" && start.includes("%PDF-"))) return "pdf";
  if (begins("PK\x03\x04") || begins("PK\x05\x06")) return "zip";
  if (begins("\x1f\x8b")) return "gz";
  if (begins("\x28\xb5\x2f\xfd") || (begins("*M\x18", 1) && /^[P-_]/.test(start))) return "zst";
  if (begins("SQLite format 3\0")) return "sqlite";
  if (begins("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")) return "ole";
  if (begins("ustar", 257) || hasTarSum(head)) return "tar";
  if (begins("PAR1") && start.includes("\0")) return "parquet";
  if (begins("{\\rtf")) return "rtf";
  if (extension === "htm" || extension === "xhtml") return "html";
  // A download that broke off before its first byte.
  if (start === "" && BY_CONTENT.has(extension)) return extension === "pdf" ? "pdf" : "zip";
  if (extension === "mbox") return /^(\xef\xbb\xbf)?From /.test(start) ? "mbox" : null;
  if (extension === "mht" || extension === "mhtml") return "eml";
  return extension === "html" || extension === "ipynb" || extension === "eml" ? extension : null;
}

/** Bytes of a header of a tar. */
const TAR_HEADER = 512;

/** True for a tar by the checksum of its first header: a label of a volume has no other sign, nor have tars of before 1988. */
function hasTarSum(head: Uint8Array): boolean {
  if (head.length < TAR_HEADER || head[0] === 0) return false;
  const said = Buffer.from(head.subarray(148, 156)).toString("latin1");
  return Number.parseInt(said, 8) === tarSumOf(head.subarray(0, TAR_HEADER));
}

/** The checksum of a header of a tar, in which its own field counts as spaces. */
export const tarSumOf = (header: Uint8Array) =>
  header.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 0x20 : byte), 0);

/** Lower case, without the dot. */
export function extensionOf(name: string): string {
  return extname(name).slice(1).toLowerCase();
}

/**
 * Kinds of Office files by the types of their main parts, also those of templates, shows and files
 * with macros.
 */
const BY_MAIN: readonly (readonly [RegExp, Kind])[] = [
  [/\b(wordprocessingml|ms-word)\./i, "docx"],
  [/\b(presentationml|ms-powerpoint)\./i, "pptx"],
  [/\b(spreadsheetml|ms-excel)\./i, "xlsx"],
];

/** Kinds of OpenDocument files by their types. */
const OPEN: readonly (readonly [type: string, Kind])[] = [
  ["text", "odt"],
  ["spreadsheet", "ods"],
  ["presentation", "odp"],
  ["graphics", "odg"],
];

/**
 * The kind of a zip by the names in it, its member `mimetype`, and the content type of its main
 * part; null: parts have no types.
 */
export function zippedKind(names: ReadonlySet<string>, mimetype: string, main: string | null): Kind {
  if (mimetype.includes("epub")) return "epub";
  const open = OPEN.find(([type]) => mimetype.includes(`opendocument.${type}`));
  if (open) return open[1];
  if (main === null) return "zip";
  const named = BY_MAIN.find(([type]) => type.test(main));
  if (named) return named[1];
  const has = (folder: string) => [...names].some((name) => name.startsWith(folder));
  return has("word/") ? "docx" : has("ppt/") ? "pptx" : has("xl/") ? "xlsx" : "zip";
}

/** The number of documents that are read at once. */
export const CHILDREN = Math.max(1, Math.min(4, availableParallelism() - 1));

/**
 * Converters by extension: a command, in which `{}` is the path of a copy; false leaves files unconverted; true
 * converts HTML of a repository too.
 */
export type Converters = Readonly<Record<string, readonly string[] | boolean>>;

/** Which files load, and how documents become text. */
export interface DocumentOptions {
  /** Loads files of a folder that may contain secrets, by their names (default false). */
  readonly secrets?: boolean;
  /** Loads files as they are (default false). */
  readonly raw?: boolean;
  readonly convert?: Converters;
  /**
   * The encoding of texts without a byte order mark: a label of the Encoding Standard (default
   * UTF-8).
   */
  readonly encoding?: string | undefined;
  /**
   * Reads all bytes that are not of the encoding as U+FFFD (default false: a few, in the files of a
   * folder).
   */
  readonly lossy?: boolean;
  /** Folder that keeps converted texts for later loads. */
  readonly keptIn?: string;
}

/** The way in which a file becomes text. */
export type Way =
  | {
      readonly kind: FileKind;
      /** Extensions of members that stay as they are. */
      readonly plain: readonly string[];
      /** True if members that may contain secrets are read. */
      readonly secrets?: boolean;
    }
  | { readonly argv: readonly string[] };

/** An original that was read whole. */
export interface OriginalFile {
  readonly way: Way;
  readonly bytes: Uint8Array;
  /** For the texts that it may hold. */
  readonly decoding: Decoding;
  /** The log of a database that stands beside it. */
  readonly wal?: Uint8Array;
  /** The name of a log or journal of a database that is there and is not read. */
  readonly unreadLog?: string;
}

/**
 * The way in which a file becomes text, by its first bytes and its name; null: it is a text
 * already. HTML is source in a repository.
 */
export function wayOf(
  head: Uint8Array,
  name: string,
  isInRepository: () => boolean,
  { raw = false, secrets = false, convert = {} }: DocumentOptions,
): Way | null {
  const extension = extensionOf(name);
  const setting = Object.hasOwn(convert, extension) ? convert[extension] : undefined;
  if (raw || setting === false) return null;
  if (typeof setting === "object") return { argv: setting };
  const kind = kindOf(head, name);
  if (kind === null || (kind === "html" && setting !== true && isInRepository())) return null;
  return { kind, plain: mayHold(kind) ? plainIn(convert, isInRepository()) : [], ...(secrets ? { secrets } : {}) };
}

const MARKUP = ["htm", "html", "xhtml"];

function plainIn(convert: Converters, isInRepository: boolean): string[] {
  const unconverted = Object.keys(convert).filter((extension) => convert[extension] === false);
  return [...unconverted, ...MARKUP.filter((extension) => isInRepository && convert[extension] !== true)].sort();
}

/** True for an archive, packed or not: it may need any reader. */
export const mayHold = (kind: FileKind) => kind === "zip" || kind === "gz" || kind === "zst" || kind === "tar";
