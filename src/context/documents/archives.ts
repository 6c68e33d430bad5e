import { gunzipSync, zstdDecompressSync } from "node:zlib";
import { megabytes } from "./growing.ts";
import {
  damaged,
  isTooLong,
  type Member,
  MOST_MEMBERS,
  refusalOf,
  tooManyMembers,
  tooMuch,
  UNPACKED_BYTES,
} from "./zip.ts";

/** The content of a file that was packed by itself. @throws Unreadable */
export function unpackedFile(kind: "gz" | "zst", bytes: Buffer): Buffer {
  try {
    return (kind === "gz" ? gunzipSync : zstdDecompressSync)(bytes, { maxOutputLength: UNPACKED_BYTES });
  } catch (error) {
    throw isTooLong(error) ? tooMuch(megabytes(UNPACKED_BYTES)) : damaged("its data cannot be unpacked");
  }
}

const BLOCK = 512;

/** The members of a tar that is unpacked already. @throws Unreadable */
export function membersOfTar(bytes: Buffer): Member[] {
  const members: Member[] = [];
  let longName: string | null = null;
  for (let at = 0; at + BLOCK <= bytes.length; ) {
    const header = bytes.subarray(at, at + BLOCK);
    if (header.every((byte) => byte === 0)) break;
    if (sumOf(header) !== octal(header, 148, 156)) throw damaged(`the header at byte ${at} is wrong`);
    const size = octal(header, 124, 136);
    if (at + BLOCK + size > bytes.length) throw damaged("it ends too early");
    const data = bytes.subarray(at + BLOCK, at + BLOCK + size);
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
    const type = String.fromCharCode(header[156] || 0x30);
    if (type === "L") longName = textIn(data, 0, data.length);
    else if (type === "x") longName = /(?:^|\n)\d+ path=([^\n]*)\n/.exec(data.toString("utf8"))?.[1] ?? longName;
    else if (type !== "g") {
      if (members.length >= MOST_MEMBERS) throw tooManyMembers();
      const name = (longName ?? nameIn(header)).replace(/^\.\//, "");
      const refusal = type === "0" || type === "7" ? refusalOf(name) : "a link or a special file";
      if (type !== "5") members.push({ name, refusal, read: () => data });
      longName = null;
    }
  }
  return members;
}

/** The checksum, in which its own field counts as spaces. */
const sumOf = (header: Buffer) => header.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 0x20 : byte), 0);

/** The number in a field; one that is not octal makes the archive end too early. */
function octal(header: Buffer, start: number, end: number): number {
  const text = textIn(header, start, end).trim();
  return /^[0-7]*$/.test(text) ? Number.parseInt(text || "0", 8) : Number.POSITIVE_INFINITY;
}

function nameIn(header: Buffer): string {
  const prefix = textIn(header, 257, 262) === "ustar" ? textIn(header, 345, 500) : "";
  return prefix === "" ? textIn(header, 0, 100) : `${prefix}/${textIn(header, 0, 100)}`;
}

function textIn(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString("utf8", start, end);
  const nul = text.indexOf("\0");
  return nul < 0 ? text : text.slice(0, nul);
}
