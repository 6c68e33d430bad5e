import { crc32, deflateRawSync, deflateSync } from "node:zlib";

/** A member of a zip. What is not given follows from `data`; hostile archives give it. */
export interface ZipMember {
  readonly name: string;
  readonly data?: string | Uint8Array;
  readonly packed?: Uint8Array;
  readonly size?: number;
  readonly crc?: number;
  readonly flag?: number;
  /** The number of the method by which it is packed, if it is not deflate. */
  readonly method?: number;
  /** The type and permissions that a program of Unix gives it. */
  readonly mode?: number;
  /** The offset of another member's header, which this one shares. */
  readonly at?: number;
}

/** A zip with these members, each packed by deflate. */
export function zip(members: readonly ZipMember[]): Buffer {
  const parts: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let at = 0;
  for (const member of members) {
    const data = Buffer.from(member.data ?? "");
    const packed = member.packed ?? deflateRawSync(data);
    const name = Buffer.from(member.name);
    const fields = [member.crc ?? crc32(data), packed.length, member.size ?? data.length];
    const header = Buffer.alloc(30);
    header.writeUInt32LE(0x04034b50);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50);
    entry.writeUInt16LE(20, 4);
    for (const [block, shift] of [
      [header, 4],
      [entry, 6],
    ] as const) {
      block.writeUInt16LE(20, shift);
      block.writeUInt16LE(member.flag ?? 0, shift + 2);
      block.writeUInt16LE(member.method ?? 8, shift + 4);
      for (const [n, field] of fields.entries()) block.writeUInt32LE(field, shift + 10 + 4 * n);
      block.writeUInt16LE(name.length, shift + 22);
    }
    if (member.mode !== undefined) {
      entry.writeUInt8(3, 5);
      entry.writeUInt16LE(member.mode, 40);
    }
    entry.writeUInt32LE(member.at ?? at, 42);
    directory.push(entry, name);
    if (member.at !== undefined) continue;
    parts.push(header, name, packed);
    at += header.length + name.length + packed.length;
  }
  const names = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50);
  end.writeUInt16LE(members.length, 8);
  end.writeUInt16LE(members.length, 10);
  end.writeUInt32LE(names.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, names, end]);
}

/** A member of a tar. */
interface TarMember {
  readonly name: string;
  readonly data?: string | Uint8Array;
  /** 0 of a file, 2 of a link. */
  readonly type?: string;
  readonly magic?: string;
  readonly prefix?: string;
}

/** A tar with these members. */
export function tar(members: readonly TarMember[]): Buffer {
  const blocks = members.map(({ name, data = "", type = "0", magic = "ustar\x0000", prefix = "" }) => {
    const content = Buffer.from(data);
    const header = Buffer.alloc(512);
    header.write(name, 0);
    header.write(content.length.toString(8).padStart(11, "0"), 124);
    header.write(" ".repeat(8), 148);
    header.write(type, 156);
    header.write(magic, 257, "latin1");
    header.write(prefix, 345, "latin1");
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
    return Buffer.concat([header, content, Buffer.alloc((512 - (content.length % 512)) % 512)]);
  });
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

/** A PDF with these objects; the first one is its catalog. */
export function pdfOf(objects: readonly (string | Uint8Array)[]): Buffer {
  const pieces: Buffer[] = [Buffer.from("%PDF-1.7\n")];
  const offsets: number[] = [];
  let at = 9;
  for (const [n, object] of objects.entries()) {
    const piece = Buffer.concat([Buffer.from(`${n + 1} 0 obj\n`), Buffer.from(object), Buffer.from("\nendobj\n")]);
    offsets.push(at);
    at += piece.length;
    pieces.push(piece);
  }
  const table = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
  const size = objects.length + 1;
  const xref = `xref\n0 ${size}\n0000000000 65535 f \n${table}trailer\n<</Size ${size}/Root 1 0 R>>\nstartxref\n${at}\n%%EOF\n`;
  return Buffer.concat([...pieces, Buffer.from(xref)]);
}

/** A stream of a PDF, packed. */
export function streamOf(raw: string | Uint8Array, more = ""): Buffer {
  const packed = deflateSync(Buffer.from(raw));
  const head = `<</Length ${packed.length}/Filter/FlateDecode${more}>>\nstream\n`;
  return Buffer.concat([Buffer.from(head), packed, Buffer.from("\nendstream")]);
}

const FONT = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>";

/** A PDF whose pages have these streams. */
export function pdfWith(contents: readonly Uint8Array[]): Buffer {
  const pages = contents.map((_, n) => `${4 + 2 * n} 0 R`).join(" ");
  return pdfOf([
    "<</Type/Catalog/Pages 2 0 R>>",
    `<</Type/Pages/Kids[${pages}]/Count ${contents.length}>>`,
    FONT,
    ...contents.flatMap((content, n) => [
      `<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents ${5 + 2 * n} 0 R/Resources<</Font<</F 3 0 R>>>>>>`,
      content,
    ]),
  ]);
}

/** A PDF whose pages have these lines; a page without lines has no text. */
export function pdf(...pages: readonly (readonly string[])[]): Buffer {
  const shown = (line: string) => `(${line.replace(/[()\\]/g, "\\$&")}) Tj 0 -14 Td `;
  return pdfWith(pages.map((lines) => streamOf(`BT /F 12 Tf 72 720 Td ${lines.map(shown).join("")}ET`)));
}
