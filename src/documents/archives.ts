import { isUtf8 } from "node:buffer";
import { constants, crc32, gunzipSync, inflateRawSync, zstdDecompressSync } from "node:zlib";
import { type Entry, fromBufferPromise, getFileNameLowLevel } from "yauzl";
import { frameCutter } from "../platform/zstd-frames.ts";
import { decodedXml } from "./decoded.ts";
import { ARCHIVE_CUT, damaged, encrypted, type Growing, megabytes, Unreadable } from "./growing.ts";
import { tarSumOf } from "./kinds.ts";

/** A file in an archive. Its bytes are unpacked, bounded and checked when they are asked for. */
export interface Member {
  readonly name: string;
  /** Why it is left out by its name or type. */
  readonly refusal: string | undefined;
  /** @throws Unreadable */
  read(): Buffer;
}

const MOST_MEMBERS = 10_000;
const MEMBER_BYTES = 100 * 2 ** 20;
/** Bytes to which an archive may unpack in all. */
const UNPACKED_BYTES = 400 * 2 ** 20;

/** The refusal of an archive that unpacks to more than it may. */
const tooMuch = (limit: string) => new Unreadable("unpacks_too_much", `unpacks to more than ${limit}`);
const tooManyMembers = () => tooMuch("10,000 members");

/** The refusal of a name that leads elsewhere. */
function refusalOf(name: string): string | undefined {
  const isOut = name === "" || /[\p{Cc}\\]|^\/|^[a-z]:/iu.test(name) || name.split("/").includes("..");
  return isOut ? "a name that leads out of the archive" : undefined;
}

/** The content of a file that was packed by itself. */
interface Unpacked {
  readonly bytes: Buffer;
  /** The file ends too early, and the content is what it has. */
  readonly isCut: boolean;
}

/** Unpacks a file that was packed by itself. @throws Unreadable */
export function unpackedFile(kind: "gz" | "zst", bytes: Buffer): Unpacked {
  const pieces: Buffer[] = [];
  let left = UNPACKED_BYTES;
  let isCut = false;
  for (const frame of kind === "gz" ? [bytes] : frameCutter().cut(bytes)) {
    const piece = unpackedPiece(kind, frame, left);
    pieces.push(piece.bytes);
    left -= piece.bytes.length;
    isCut = piece.isCut;
  }
  const content = Buffer.concat(pieces);
  if (isCut && content.length === 0) throw damaged("it ends too early");
  return { bytes: content, isCut };
}

/** @param most bytes to which it may unpack */
function unpackedPiece(kind: "gz" | "zst", bytes: Uint8Array, most: number): Unpacked {
  const by = kind === "gz" ? gunzipSync : zstdDecompressSync;
  const maxOutputLength = Math.max(most, 1);
  try {
    return { bytes: by(bytes, { maxOutputLength }), isCut: false };
  } catch (error) {
    if (codeOf(error) !== ENDS_EARLY) throw unpackFailure(error, UNPACKED_BYTES);
  }
  // Such a flush takes what there is, and does not ask for the end.
  const finishFlush = kind === "gz" ? constants.Z_SYNC_FLUSH : constants.ZSTD_e_flush;
  const content = unpack((data, options) => by(data, { ...options, finishFlush }), bytes, most, UNPACKED_BYTES);
  return { bytes: content, isCut: true };
}

const codeOf = (error: unknown) => (error instanceof Error && "code" in error ? error.code : null);

/** The code of data that continue where the file ends. */
const ENDS_EARLY = "Z_BUF_ERROR";

function unpackFailure(error: unknown, limit: number): Unreadable {
  if (codeOf(error) === "ERR_BUFFER_TOO_LARGE") return tooMuch(megabytes(limit));
  return damaged(codeOf(error) === ENDS_EARLY ? "it ends too early" : "its data cannot be unpacked");
}

/**
 * The data as it was before it was packed, if that has at most so many bytes.
 *
 * @param limit named if it has more
 */
function unpack(
  by: (data: Uint8Array, options: { maxOutputLength: number }) => Buffer,
  data: Uint8Array,
  most: number,
  limit = most,
): Buffer {
  try {
    return by(data, { maxOutputLength: Math.max(most, 1) });
  } catch (error) {
    throw unpackFailure(error, limit);
  }
}

/** A zip whose members may be the parts of one document. */
export interface Parts {
  readonly members: Member[];
  readonly names: Set<string>;
  /** The names of the parts that nobody has asked for yet. */
  unopened(): string[];
  /** The name of a part as the zip has it; `name` itself if it is absent. */
  nameOf(name: string): string;
  /** The content of a part. */
  bytes(name: string): Buffer<ArrayBufferLike> | undefined;
  /** The part as a text; "" if it is absent. */
  text(name: string): string;
}

/**
 * The members of a zip, in the order of its directory. Nothing is unpacked yet.
 *
 * @param lose told of parts that are not of their encoding
 * @throws Unreadable
 */
export async function openParts(bytes: Buffer, lose: Growing["lose"] = () => {}): Promise<Parts> {
  const members: Member[] = [];
  const remaining = { bytes: UNPACKED_BYTES };
  let packed = 0;
  try {
    const zip = await fromBufferPromise(bytes, { lazyEntries: true, validateEntrySizes: true, decodeStrings: false });
    for await (const entry of zip.eachEntry()) {
      packed += entry.compressedSize;
      // A small zip whose members overlap unpacks to petabytes.
      if (packed > bytes.length) throw damaged("its members overlap");
      if (members.length >= MOST_MEMBERS) throw tooManyMembers();
      const name = nameOfEntry(entry);
      if (!name.endsWith("/")) {
        const refusal = refusalOf(name) ?? (isLink(entry) ? NO_FILE : undefined);
        members.push({ name, refusal, read: () => unpacked(bytes, entry, remaining) });
      }
    }
  } catch (error) {
    throw error instanceof Unreadable ? error : damaged("its directory cannot be read");
  }
  // Some programs write `\\` in the names of parts.
  const named = new Map(members.map((member) => [member.name.replaceAll("\\", "/"), member]));
  const alike = new Map(Array.from(named.keys(), (name) => [comparable(name), name]));
  const nameOf = (name: string) => (named.has(name) ? name : (alike.get(comparable(name)) ?? name));
  const opened = new Set<string>();
  const read = (name: string) => {
    const own = nameOf(name);
    opened.add(own);
    return named.get(own)?.read();
  };
  return {
    members,
    names: new Set(named.keys()),
    unopened: () => [...named.keys()].filter((name) => !opened.has(name)),
    nameOf,
    bytes: read,
    text(name: string): string {
      const isFirst = !opened.has(nameOf(name));
      const content = read(name);
      if (!content) return "";
      const source = decodedXml(content, () => isFirst && lose("character without a meaning", name));
      if (isFirst && !isClosed(source)) lose("damaged part", name);
      return source;
    },
  };
}

/** The refusal of a member that is no file. */
const NO_FILE = "a link or a special file";

/** True for a symlink, of which a program of Unix keeps the target as the content. */
function isLink({ versionMadeBy, externalFileAttributes }: Entry): boolean {
  return versionMadeBy >> 8 === UNIX && externalFileAttributes >>> 28 === SYMLINK;
}

const UNIX = 3;
/** The type in the mode of a file. */
const SYMLINK = 0o12;

/** Names are UTF-8 if their bytes are, whatever their flag says, and else CP437 or what an extra field says. */
function nameOfEntry({ fileNameRaw, generalPurposeBitFlag, extraFields }: Entry): string {
  if (isUtf8(fileNameRaw)) return fileNameRaw.toString("utf8");
  return getFileNameLowLevel(generalPurposeBitFlag, fileNameRaw, extraFields, true);
}

/** Characters at the end of a part in which its first element ends. */
const END_UNITS = 1000;

/** False for XML that ends before its first element does. */
function isClosed(source: string): boolean {
  const first = /<([\p{L}_][\p{L}\d_:.-]*)/u.exec(source);
  if (first === null) return true;
  const { 1: root, index } = first;
  const end = source.slice(-END_UNITS).trimEnd();
  if (end.endsWith("/>") && source.lastIndexOf("<") === index) return true;
  // A remark before or behind the element may have others.
  const isRemark = end.endsWith("-->") || source.slice(0, index).includes("<!");
  return isRemark || end.endsWith(`</${root}>`);
}

/** The form in which names of parts are compared: their case is free, and they may be escaped. */
const comparable = (name: string) => unescaped(name).toLowerCase();

/** A reference without its escapes, such as `%20`. */
function unescaped(reference: string): string {
  try {
    return decodeURIComponent(reference);
  } catch {
    return reference;
  }
}

function unpacked(bytes: Buffer, entry: Entry, left: { bytes: number }): Buffer {
  if ((entry.generalPurposeBitFlag & 1) === 1) throw encrypted();
  const header = entry.relativeOffsetOfLocalHeader;
  if (header + 30 > bytes.length || bytes.readUInt32LE(header) !== 0x04034b50) throw damaged("a header is wrong");
  const start = header + 30 + bytes.readUInt16LE(header + 26) + bytes.readUInt16LE(header + 28);
  const data = bytes.subarray(start, start + entry.compressedSize);
  const method = entry.compressionMethod;
  if (method !== 0 && method !== 8) {
    const by = METHODS.get(method) ?? method;
    throw new Unreadable("left_out", `packed by a method that is not read (${by}): \`7z x\` unpacks it`);
  }
  const [most, limit] = left.bytes < MEMBER_BYTES ? [left.bytes, UNPACKED_BYTES] : [MEMBER_BYTES, MEMBER_BYTES];
  if (method === 0 && data.length > most) throw tooMuch(megabytes(limit));
  const content = method === 0 ? data : unpack(inflateRawSync, data, most, limit);
  left.bytes -= content.length;
  if (crc32(content) !== entry.crc32) throw damaged("its checksum is wrong");
  return content;
}

/** Methods by which other programs pack members of a zip. */
const METHODS: ReadonlyMap<number, string> = new Map([
  [9, "deflate64"],
  [12, "bzip2"],
  [14, "lzma"],
  [93, "zstd"],
  [95, "xz"],
]);

const BLOCK = 512;

/**
 * The members of a tar that is unpacked already. One that ends too early has what is whole, and a
 * member that says so. Some programs write no blocks of zeros at the end, as one has that was cut off
 * between two members.
 *
 * @param isCut it was packed, and ended too early there
 * @throws Unreadable
 */
export function membersOfTar(bytes: Buffer, isCut: boolean): Member[] {
  const members: Member[] = [];
  let longName: string | null = null;
  let isSparse = false;
  for (let at = 0; ; ) {
    if (at === bytes.length && !isCut)
      return [...members, cutMember("(the end)", "the archive does not say that it ends here")];
    if (at + BLOCK > bytes.length) return [...members, cutMember("(the rest)")];
    const header = bytes.subarray(at, at + BLOCK);
    if (header.every((byte) => byte === 0)) return isRestEmpty(bytes, at) ? members : [...members, BEHIND_END];
    if (tarSumOf(header) !== octal(header, 148, 156)) throw damaged(`the header at byte ${at} is wrong`);
    const size = octal(header, 124, 136);
    if (at + BLOCK + size > bytes.length) return [...members, cutMember(longName ?? nameIn(header))];
    const data = bytes.subarray(at + BLOCK, at + BLOCK + size);
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
    const type = String.fromCharCode(header[156] || 0x30);
    if (type === "L") longName = textIn(data, 0, data.length);
    else if (type === "x") {
      const facts = extendedFacts(data);
      isSparse = facts.has("GNU.sparse.major") || facts.has("GNU.sparse.map");
      longName = facts.get("GNU.sparse.name") ?? facts.get("path") ?? longName;
    } else if (type !== "g") {
      if (members.length >= MOST_MEMBERS) throw tooManyMembers();
      const name = (longName ?? nameIn(header)).replace(/^\.\//, "");
      const isFile = type === "0" || type === "7";
      const refusal = isSparse || type === "S" ? SPARSE : isFile ? refusalOf(name) : NO_FILE;
      // Old programs say by its name alone that it is a folder.
      const isFolder = FOLDERS.has(type) || (isFile && name.endsWith("/"));
      if (!isFolder) members.push({ name, refusal, read: () => data });
      longName = null;
      isSparse = false;
    }
  }
}

/** Types of folders, and of the label of a volume. */
const FOLDERS: ReadonlySet<string> = new Set(["5", "D", "V"]);
/** The refusal of a file whose holes are left out. */
const SPARSE = "a sparse file, of which the archive has parts";

/** The facts about the next member: `30 path=a/b`, whose number is that of its bytes. */
function extendedFacts(data: Buffer): ReadonlyMap<string, string> {
  const facts = new Map<string, string>();
  for (let at = 0; at < data.length; ) {
    const length = Number.parseInt(data.toString("latin1", at, at + MOST_DIGITS), 10);
    if (!(length > 0)) break;
    const record = data.toString("utf8", data.indexOf(" ", at) + 1, at + length - 1);
    const end = record.indexOf("=");
    facts.set(record.slice(0, end), record.slice(end + 1));
    at += length;
  }
  return facts;
}

const MOST_DIGITS = 20;

const isRestEmpty = (bytes: Buffer, from: number) => bytes.subarray(from).every((byte) => byte === 0);

/** The first member of which not all is there. */
const cutMember = (name: string, refusal = ARCHIVE_CUT): Member => ({
  name,
  refusal,
  read: () => Buffer.alloc(0),
});

/** Stands for members of an archive that was put behind another one. */
const BEHIND_END = cutMember("(the rest)", "it stands behind the end of the archive");

/** The number in a field; one that is not octal makes the archive end too early. */
function octal(header: Buffer, start: number, end: number): number {
  const text = textIn(header, start, end).trim();
  return /^[0-7]*$/.test(text) ? Number.parseInt(text || "0", 8) : Number.POSITIVE_INFINITY;
}

function nameIn(header: Buffer): string {
  // GNU tar has times where others have the beginning of a long name.
  const prefix = header.toString("latin1", 257, 263) === "ustar\0" ? textIn(header, 345, 500) : "";
  return prefix === "" ? textIn(header, 0, 100) : `${prefix}/${textIn(header, 0, 100)}`;
}

function textIn(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString("utf8", start, end);
  const nul = text.indexOf("\0");
  return nul < 0 ? text : text.slice(0, nul);
}
