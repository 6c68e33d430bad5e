import { isUtf8 } from "node:buffer";
import { hash } from "node:crypto";
import * as v from "valibot";
import type { Converted } from "./converted.ts";
import type { Frame } from "./frames.ts";
import { type Grown, MOST_PLACES, oneLine, REASONS } from "./growing.ts";
import { FILE_KINDS, MOST_ORIGINAL_BYTES } from "./kinds.ts";

export const MOST_FRAME_BYTES = MOST_ORIGINAL_BYTES + 64 * 2 ** 20;
/** Memory of a child, of which nothing real needed more than 400 MB. */
export const RSS_BYTES = 2 ** 30;
/** The time that an original of this size may take, ms. */
export const timeFor = (bytes: number) => Math.min(300_000, 10_000 + bytes / 100);
/** The last word of a child that ends because of its memory. */
export const OUT_OF_MEMORY = "out of memory";

const JobSchema = v.object({
  /** The original's own name, without folders. */
  name: v.string(),
  kind: v.picklist(FILE_KINDS),
  /** Extensions of members that stay as they are. */
  plain: v.pipe(v.array(v.string()), v.readonly()),
  /** Bytes of UTF-8 that its text may have. */
  room: v.number(),
  /** A private copy, for what can be read only from a file. */
  file: v.exactOptional(v.string()),
});
/** An original that is to become text. */
export type Job = Readonly<v.InferOutput<typeof JobSchema>>;

export const jobOf = (header: unknown): Job => v.parse(JobSchema, header);

/** A text that came of an original or of a member of it, under its name there. */
export interface ReadText extends Partial<Pick<Converted, "places" | "lost">> {
  readonly name: string;
  readonly text: Uint8Array;
  /** Absent: the member is a text, and stays as it is. */
  readonly original?: { readonly kind: string; readonly sha256: string; readonly bytes: number };
}

/** The text that a reader made of these bytes. */
export function readText(name: string, kind: string, bytes: Uint8Array, { text, ...found }: Grown): ReadText {
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
  original: v.exactOptional(v.object({ kind: line, sha256: line, bytes: count })),
  places: v.exactOptional(v.pipe(v.array(PlaceSchema), v.maxLength(MOST_PLACES + 1))),
  lost: v.exactOptional(v.array(LossSchema)),
});
const RefusedSchema = v.object({ name: line, reason: v.picklist(REASONS), problem: line });
export type Refused = Readonly<v.InferOutput<typeof RefusedSchema>>;
const AnswerSchema = v.object({
  isArchive: v.boolean(),
  texts: v.array(TextSchema),
  refused: v.array(RefusedSchema),
});

/** The header and the pieces of a frame with an answer. */
export function answerFrame({ isArchive, texts, refused }: Answer): readonly [unknown, readonly Uint8Array[]] {
  const told = texts.map(({ text, ...read }) => ({ ...read, length: text.length }));
  return [{ isArchive, texts: told, refused }, texts.map(({ text }) => text)];
}

/** The answer in a frame. @throws Error if it is not one: a parser may have been taken over by a document */
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
