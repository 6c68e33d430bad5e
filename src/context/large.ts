import { freeBytes } from "../../runtime/index.ts";
import { type Context, type ContextFile, extendContext, isSmall, type LoadedFile } from "./context.ts";
import { beginLarge, checkRoom, type LargeSource, type LargeWriting } from "./large-writing.ts";
import { isLargeSize, SMALL } from "./load/size.ts";
import type { SkippedFile } from "./skipped.ts";

/** The source of the files that are gathered. */
interface GatheredSource extends Omit<LargeSource, "texts"> {
  /** Absolute folder for the texts of large contexts. Without it no files are taken that make one. */
  readonly texts?: (() => Promise<string>) | undefined;
  /** Called with that folder before the text of a large context is written into it. */
  onLarge?(texts: string): void;
  /** True if the bytes of files in memory may be freed when they are in a context. */
  readonly ownsBytes: boolean;
}

/** Files that follow a context in P. Disposing it removes what no context came of. */
export interface Gathering extends Disposable {
  /** Puts a file behind the others. */
  add(file: ContextFile): Promise<void>;
  /** True until a file is added. */
  isEmpty(): boolean;
  /** Bytes that a text may have to be held in memory: one of more is to be added in pieces. */
  room(): number;
  /** The context with all of the files. @param skipped files that the source has besides */
  end(skipped: readonly SkippedFile[]): Promise<Context>;
}

/** A text of fewer bytes is read at once, and held until it is written. */
const AT_ONCE_BYTES = 8 * 2 ** 20;

/**
 * Gathers the files that follow `previous`. They are held in memory until the context is large.
 * From then on they go to a checked file.
 */
export function gather(
  previous: Context | undefined,
  { texts, ownsBytes, onLarge, ...source }: GatheredSource,
): Gathering {
  const small = previous === undefined || isSmall(previous) ? { previous } : null;
  const size = { files: previous?.documents.length ?? 0, bytes: previous?.text.bytes ?? 0 };
  const held: LoadedFile[] = [];
  let writing: LargeWriting | undefined;
  let isEmpty = true;

  async function begin(): Promise<LargeWriting> {
    if (!texts) throw new Error("a large context needs a folder for its text");
    const folder = await texts();
    checkRoom(folder, size.bytes - (small ? 0 : (previous?.text.bytes ?? 0)));
    onLarge?.(folder);
    writing = await beginLarge(previous, { ...source, texts: folder });
    for (const file of held.splice(0)) await put(writing, file);
    return writing;
  }

  async function put(into: LargeWriting, file: ContextFile): Promise<void> {
    const { bytes } = file;
    await into.add(file);
    // Texts of an archive lie in one buffer.
    if (ownsBytes && !("pieces" in bytes) && bytes.length === bytes.buffer.byteLength) freeBytes(bytes);
  }

  return {
    isEmpty: () => isEmpty,
    room: () => (writing ? AT_ONCE_BYTES : roomBehind(previous, size)),
    async add(file) {
      isEmpty = false;
      size.files += 1;
      size.bytes += file.separator.length + file.bytes.length;
      if (writing || !small || isLargeSize(size)) await put(writing ?? (await begin()), file);
      else held.push(await inMemory(file, source.pause));
    },
    async end(skipped) {
      if (writing || !small) return (writing ?? (await begin())).end(skipped);
      const context = await extendContext(small.previous, { ...source, files: held, skipped }, source.pause);
      if (ownsBytes) for (const { bytes } of held) freeBytes(bytes);
      return context;
    },
    [Symbol.dispose]: () => writing?.drop(),
  };
}

/** Bytes that a text behind a context may have to be read at once. @param size the context's, with what was added */
export function roomBehind(context: Context | undefined, { bytes }: { readonly bytes: number }): number {
  const isInMemory = context === undefined || isSmall(context);
  return isInMemory ? Math.max(AT_ONCE_BYTES, SMALL.bytes - bytes) : AT_ONCE_BYTES;
}

async function inMemory(file: ContextFile, pause: GatheredSource["pause"]): Promise<LoadedFile> {
  const { bytes } = file;
  if (!("pieces" in bytes)) return { ...file, bytes };
  const whole = Buffer.allocUnsafeSlow(bytes.length);
  let at = 0;
  for (const piece of bytes.pieces()) {
    whole.set(piece, at);
    at += piece.length;
    await pause(piece.length);
  }
  return { ...file, bytes: whole };
}
