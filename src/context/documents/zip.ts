import { crc32, inflateRawSync } from "node:zlib";
import { type Entry, fromBufferPromise } from "yauzl";
import { megabytes, Unreadable } from "./growing.ts";

/** A file in an archive. Its bytes are unpacked, bounded and checked when they are asked for. */
export interface Member {
  readonly name: string;
  /** Why it is left out by its name or type. */
  readonly refusal: string | undefined;
  /** @throws Unreadable */
  read(): Buffer;
}

export const MOST_MEMBERS = 10_000;
const MEMBER_BYTES = 100 * 2 ** 20;
/** Bytes to which an archive may unpack in all. */
export const UNPACKED_BYTES = 400 * 2 ** 20;

/** The refusal of an archive that unpacks to more than it may. */
export const tooMuch = (limit: string) => new Unreadable("unpacks_too_much", `unpacks to more than ${limit}`);
export const tooManyMembers = () => tooMuch("10,000 members");
export const encrypted = () => new Unreadable("encrypted", "is encrypted: it needs a password");
export const damaged = (problem: string) => new Unreadable("damaged", `is damaged: ${problem}`);

function unpacked(bytes: Buffer, entry: Entry, left: { bytes: number }): Buffer {
  if ((entry.generalPurposeBitFlag & 1) === 1) throw encrypted();
  const header = entry.relativeOffsetOfLocalHeader;
  if (header + 30 > bytes.length || bytes.readUInt32LE(header) !== 0x04034b50) throw damaged("a header is wrong");
  const start = header + 30 + bytes.readUInt16LE(header + 26) + bytes.readUInt16LE(header + 28);
  const data = bytes.subarray(start, start + entry.compressedSize);
  const content = inflated(data, entry.compressionMethod, Math.min(MEMBER_BYTES, left.bytes));
  left.bytes -= content.length;
  if (crc32(content) !== entry.crc32) throw damaged("its checksum is wrong");
  return content;
}

function inflated(data: Buffer, method: number, most: number): Buffer {
  const over = tooMuch(megabytes(most < MEMBER_BYTES ? UNPACKED_BYTES : MEMBER_BYTES));
  if (method !== 0 && method !== 8) throw damaged(`it is packed by method ${method}, which is not known`);
  if (method === 0 && data.length > most) throw over;
  try {
    return method === 0 ? data : inflateRawSync(data, { maxOutputLength: Math.max(most, 1) });
  } catch (error) {
    throw isTooLong(error) ? over : damaged("its data cannot be unpacked");
  }
}

/** True if zlib ended because its output passed the limit. */
export function isTooLong(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE";
}

/** The refusal of a name that leads elsewhere. */
export function refusalOf(name: string): string | undefined {
  const isOut = name === "" || /[\p{Cc}\\]|^\/|^[a-z]:/iu.test(name) || name.split("/").includes("..");
  return isOut ? "a name that leads out of the archive" : undefined;
}

/** A zip whose members may be the parts of one document. */
export type Parts = Awaited<ReturnType<typeof openParts>>;

/** The members of a zip, in the order of its directory. Nothing is unpacked yet. @throws Unreadable */
export async function openParts(bytes: Buffer) {
  const members: Member[] = [];
  const left = { bytes: UNPACKED_BYTES };
  let packed = 0;
  try {
    const zip = await fromBufferPromise(bytes, { lazyEntries: true, validateEntrySizes: true, decodeStrings: false });
    for await (const entry of zip.eachEntry()) {
      packed += entry.compressedSize;
      // A small zip whose members overlap unpacks to petabytes.
      if (packed > bytes.length) throw damaged("its members overlap");
      if (members.length >= MOST_MEMBERS) throw tooManyMembers();
      const name = entry.fileNameRaw.toString("utf8");
      if (!name.endsWith("/"))
        members.push({ name, refusal: refusalOf(name), read: () => unpacked(bytes, entry, left) });
    }
  } catch (error) {
    throw error instanceof Unreadable ? error : damaged("its directory cannot be read");
  }
  const named = new Map(members.map((member) => [member.name, member]));
  return {
    members,
    names: new Set(named.keys()),
    /** The part as a text; "" if it is absent. */
    text: (name: string) => named.get(name)?.read().toString("utf8") ?? "",
  };
}
