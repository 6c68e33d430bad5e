import { type ContextFile, extendContext, type LoadedFile, type SmallContext } from "../../src/context/context.ts";
import type { Loss, Place } from "../../src/documents/growing.ts";

/** A part of a converted document as readers make it: a heading line, then the body. */
export interface Section {
  readonly label: string;
  readonly body: string;
  /** Of rows, the number of the first one. */
  readonly firstRow?: number;
}

/** A document as a reader gives it. @param of the kind, the losses and the reader; absent: a PDF without losses */
export function convertedFile(
  id: string,
  sections: readonly Section[],
  of: { readonly kind?: string; readonly lost?: readonly Loss[]; readonly reader?: string } = {},
): LoadedFile {
  const places: Place[] = [];
  let text = "";
  for (const { label, body, firstRow } of sections) {
    places.push(firstRow === undefined ? [text.length, label] : [text.length, label, firstRow]);
    text += `[${label}]\n${body}`;
  }
  const { kind = "pdf", lost = [], reader = "pdf/1 unpdf 1.8.1" } = of;
  const original = { sha256: "0".repeat(64), bytes: 7 * text.length, kind, reader };
  return { ...textFile(id, text), original, places, lost };
}

export function textFile(id: string, text: string): LoadedFile {
  return { relative: id, path: `/s/${id}`, separator: Buffer.from(`\n===== ${id} =====\n`), bytes: Buffer.from(text) };
}

/** The context of these files, or that of an append. */
export function contextOf(files: readonly ContextFile[], previous?: SmallContext): Promise<SmallContext> {
  return extendContext(previous, { name: "/s", files: files.map(inMemory), skipped: [] }, async () => {});
}

/** A file with all of its bytes. */
export function inMemory<File extends Pick<ContextFile, "bytes">>(file: File): File & Pick<LoadedFile, "bytes"> {
  const { bytes } = file;
  const whole = "pieces" in bytes ? Buffer.concat(Array.from(bytes.pieces(), (piece) => Buffer.from(piece))) : bytes;
  return { ...file, bytes: Buffer.from(whole) };
}
