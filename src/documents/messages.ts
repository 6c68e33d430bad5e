import { isUtf8 } from "node:buffer";
import { hash } from "node:crypto";
import * as v from "valibot";
import { type Converted, type Growing, MOST_PLACES, type Original, oneLine, REASONS } from "./growing.ts";
import { FILE_KINDS, MOST_ORIGINAL_BYTES } from "./kinds.ts";

/** Memory of a child, of which nothing real needed more than 400 MB. */
export const RSS_BYTES = 2 ** 30;
/** The processor time that an original of this size may take, ms. */
export const timeFor = (bytes: number) => Math.min(300_000, 10_000 + bytes / 100);
/** The last word of a child that ends because of its memory. */
export const OUT_OF_MEMORY = "out of memory";
/** The last word of a child that ends because of its processor time. */
export const OUT_OF_TIME = "out of time";

const JobSchema = v.object({
  /** The original's own name, without folders. */
  name: v.string(),
  kind: v.picklist(FILE_KINDS),
  /** Extensions of members that stay as they are. */
  plain: v.pipe(v.array(v.string()), v.readonly()),
  /** True if members that may contain secrets are read. */
  secrets: v.exactOptional(v.boolean()),
  /** Bytes of UTF-8 that its text may have. */
  room: v.number(),
  /** A private copy, for what can be read only from a file. */
  file: v.exactOptional(v.string()),
  /** The rows of one of its tables are wanted, in place of its text. */
  rows: v.exactOptional(v.object({ table: v.nullable(v.string()) })),
  /** For the texts that it holds. */
  decoding: v.object({ encoding: v.optional(v.string()), bad: v.picklist(["none", "few", "all"]) }),
});
/** An original that is to become text. */
export type Job = Readonly<v.InferOutput<typeof JobSchema>>;

export const jobOf = (header: unknown): Job => v.parse(JobSchema, header);

/** A text that came of an original or of a member of it, under its name there. */
export interface ReadText extends Partial<Pick<Converted, "places" | "lost">> {
  readonly name: string;
  readonly text: Uint8Array;
  /** Absent: the member is a text, and stays as it is. */
  readonly original?: Omit<Original, "reader">;
}

/** The text that a reader made of these bytes. */
export function readText(
  name: string,
  kind: string,
  bytes: Uint8Array,
  { text, ...found }: ReturnType<Growing["end"]>,
): ReadText {
  return {
    name,
    text: Buffer.from(text),
    ...found,
    original: { kind, sha256: hash("sha256", bytes), bytes: bytes.length },
  };
}

export interface Answer {
  /** The texts are those of an archive's members. */
  readonly isArchive: boolean;
  readonly texts: readonly ReadText[];
  readonly refused: readonly Refused[];
}

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
/** A document has chosen the words, and may have taken over its reader. */
const line = v.pipe(v.string(), v.transform(oneLine));
const PlaceSchema = v.union([v.strictTuple([count, line]), v.strictTuple([count, line, v.number()])]);
const LossSchema = v.object({ kind: line, count, where: v.array(v.union([line, v.number()])) });
const TextSchema = v.object({
  name: v.string(),
  length: count,
  original: v.exactOptional(v.object({ kind: line, sha256: line, bytes: count, encoding: v.exactOptional(line) })),
  places: v.exactOptional(v.pipe(v.array(PlaceSchema), v.maxLength(MOST_PLACES + 1))),
  lost: v.exactOptional(v.array(LossSchema)),
});
const ProgressSchema = v.object({ progress: line });
const RefusedSchema = v.object({ name: line, reason: v.picklist(REASONS), problem: line });
export type Refused = Readonly<v.InferOutput<typeof RefusedSchema>>;
const AnswerSchema = v.object({
  isArchive: v.boolean(),
  texts: v.array(TextSchema),
  refused: v.array(RefusedSchema),
});

/** The bytes of a frame with an answer, as several pieces. */
export function answerFrame({ isArchive, texts, refused }: Answer): Uint8Array[] {
  const header = { isArchive, texts: texts.map(({ text, ...read }) => ({ ...read, length: text.length })), refused };
  return frameOf(
    header,
    Array.from(texts, ({ text }) => text),
  );
}

/** The place to which a reader says that it has come; undefined for another message. */
export function progressIn({ header }: Frame): string | undefined {
  const read = v.safeParse(ProgressSchema, header);
  return read.success ? read.output.progress.slice(0, 100) : undefined;
}

/**
 * The answer in a frame.
 *
 * @throws Error if it is not one: a parser may have been taken over by a document
 */
export function answerOf({ header, body }: Frame): Answer {
  const { texts, ...answer } = v.parse(AnswerSchema, header);
  let at = 0;
  const read = texts.map(({ length, ...rest }) => {
    const text = body.subarray(at, at + length);
    at += length;
    const isInOrder = (rest.places ?? []).every(([unit], n, all) => unit <= length && unit >= (all[n - 1]?.[0] ?? 0));
    if (text.length !== length || !isUtf8(text) || !isInOrder) throw new Error("the answer is not whole");
    return { ...rest, text };
  });
  if (at !== body.length) throw new Error("the answer is not whole");
  return { ...answer, texts: read };
}

/**
 * A message between a process and the child that reads documents: two lengths of four bytes, JSON,
 * then bytes.
 */
export interface Frame {
  /** The value of the JSON. */
  readonly header: unknown;
  readonly body: Buffer;
}

const PREFIX = 8;
const MOST_FRAME_BYTES = MOST_ORIGINAL_BYTES + 64 * 2 ** 20;

/** The bytes of a frame, as several pieces. */
export function frameOf(header: unknown, body: readonly Uint8Array[] = []): Uint8Array[] {
  const json = Buffer.from(JSON.stringify(header));
  const prefix = Buffer.alloc(PREFIX);
  const size = body.reduce((sum, { length }) => sum + length, 0);
  prefix.writeUInt32BE(json.length, 0);
  prefix.writeUInt32BE(size, 4);
  return [prefix, json, ...body];
}

/** The frames of a stream, until it ends. @throws Error if one is too large */
export async function* framesOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Frame, undefined> {
  // A frame is put together as its pieces come: to join a large one at once would hold up the
  // thread.
  let held: Buffer = Buffer.alloc(PREFIX);
  let size: number = 0;
  for await (const chunk of stream) {
    for (let at = 0; at < chunk.length; ) {
      const taken = chunk.subarray(at, at + held.length - size);
      held.set(taken, size);
      at += taken.length;
      size += taken.length;
      if (size === PREFIX) held = begun(held);
      if (size < held.length) continue;
      yield frameIn(held);
      [held, size] = [Buffer.alloc(PREFIX), 0];
    }
  }
}

/** Room for the frame that begins with these bytes. */
function begun(prefix: Buffer): Buffer {
  const length = PREFIX + prefix.readUInt32BE(0) + prefix.readUInt32BE(4);
  if (length > MOST_FRAME_BYTES) throw new Error("a frame is too large");
  const frame = Buffer.allocUnsafeSlow(length);
  prefix.copy(frame);
  return frame;
}

/** The frame that these bytes are. @throws SyntaxError */
export function frameIn(bytes: Buffer): Frame {
  const bodyAt = PREFIX + bytes.readUInt32BE(0);
  return { header: JSON.parse(bytes.toString("utf8", PREFIX, bodyAt)), body: bytes.subarray(bodyAt) };
}
