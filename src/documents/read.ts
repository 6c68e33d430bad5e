import { createHash } from "node:crypto";
import { readFile, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { LIMITS } from "../../runtime/index.ts";
import type { LoadedFile, LoadedSource } from "../context/context.ts";
import { keepFile } from "../context/load/kept-files.ts";
import type { LoadOptions } from "../context/load/reading.ts";
import { errnoOf, type Refusal } from "../context/load/roots.ts";
import type { ContextSize } from "../context/load/size.ts";
import type { MemberRules } from "../context/load/walk.ts";
import { inSlices, pauses } from "../context/pauses.ts";
import type { Decoding } from "../context/text/decode.ts";
import { type ReadOptions, readInChild } from "./children.ts";
import { documentError } from "./errors.ts";
import { type Loss, UNREAD_LOG, Unreadable } from "./growing.ts";
import { type DocumentOptions, extensionOf, type FileKind, mayHold, type OriginalFile } from "./kinds.ts";
import { type Answer, answerFrame, answerOf, frameIn } from "./messages.ts";
import { ownReader, readByOwn, withCopy } from "./own.ts";
import { allReaders, readerOf } from "./packages.ts";
import type { RowsRequest } from "./rows.ts";

/** A file under the names that its documents get. */
export interface NamedFile {
  readonly relative: string;
  /** Absolute, or `-`. */
  readonly path: string;
  /** Leaves members out, if it is an archive of a folder. */
  readonly rules?: MemberRules | undefined;
}

/** The documents that a file gives. */
export interface FileDocuments {
  readonly files: readonly Omit<LoadedFile, "separator">[];
  readonly skipped: LoadedSource["skipped"];
  /** True if they are those of an archive. */
  readonly isFolder: boolean;
  /** Another try may give more of them. */
  readonly isFleeting?: true;
}

/**
 * The documents that an original gives, or why it gives none: from the texts that are kept, or from
 * a process.
 *
 * @throws RlmError `cancelled`
 */
export async function documentsOfOriginal(
  original: OriginalFile,
  { relative, path, rules }: NamedFile,
  { documents = {}, signal, onProgress }: LoadOptions,
  { files, bytes }: ContextSize,
): Promise<FileDocuments | Refusal> {
  const tell = (place: string) => onProgress?.({ files, bytes, converting: `${basename(relative)} ${place}` });
  try {
    const options = { signal, onProgress: tell };
    const { isArchive, texts, refused } = await answerTo(relative, original, documents, options);
    const [own] = isArchive ? [] : refused;
    if (own) return { reason: own.problem, document: own.reason, kind: kindOfWay(original.way) };
    const isIn = ({ name }: { readonly name: string }) => !isArchive || !rules?.excludes(name);
    const below = (above: string, name: string) => (isArchive ? `${above}/${name}` : above);
    const { unreadLog } = original;
    const without = unreadLog === undefined ? [] : [{ kind: UNREAD_LOG, count: 1, where: [unreadLog] }];
    return {
      files: texts.filter(isIn).map(({ name, text, original: from, lost, ...found }) => ({
        ...found,
        ...(lost ? { lost: [...lost, ...without] } : {}),
        bytes: text,
        relative: below(relative, name),
        path: path === "-" ? path : below(path, name),
        ...(from ? { original: { ...from, reader: readerFor(original.way, from.kind) } } : {}),
      })),
      skipped: refused.filter(isIn).map(({ name, problem }) => ({ path: below(relative, name), reason: problem })),
      isFolder: isArchive,
      ...(hasReaderFailed({ refused }) || unreadLog !== undefined ? { isFleeting: true } : {}),
    };
  } catch (error) {
    if (error instanceof Unreadable) {
      return { reason: error.message, document: error.reason, kind: kindOfWay(original.way) };
    }
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    return { reason: `cannot be copied to ${tmpdir()} (${errno})`, errno, document: "uncopied" };
  }
}

/** True if that says nothing of the original: what has failed may work another time. */
const hasReaderFailed = ({ refused }: Pick<Answer, "refused">) =>
  refused.some(({ reason }) => reason === "reader_failed");

const kindOfWay = (way: OriginalFile["way"]) => ("kind" in way ? way.kind : null);

/** The answer of a reader, or the one that is kept. */
async function answerTo(
  name: string,
  original: OriginalFile,
  { keptIn }: DocumentOptions,
  options: ReadOptions,
): Promise<Answer> {
  const { way, bytes, wal, decoding } = original;
  // The first extension of `a.html.gz` tells its content.
  const extension = extensionOf("kind" in way ? name.replace(/\.(gz|zst|zstd)$/i, "") : name);
  const facts =
    "kind" in way ? [way.kind, extension, ...decodingFacts(way.kind, decoding), ...membersOf(way)] : [extension];
  const store = keptIn === undefined ? null : openKeptTexts(keptIn);
  const key = await textKey([readerFor(way), ...facts], wal ? [bytes, wal] : [bytes]);
  const known = await store?.find(key);
  const answer = known ?? (await converted(basename(name), original, options));
  if (!known && !hasReaderFailed(answer)) await store?.keep(key, answer);
  return answer;
}

/** Facts on which the choice of the members of an archive depends. */
function membersOf({ plain, secrets = false }: Exclude<OriginalFile["way"], { readonly argv: unknown }>) {
  return secrets ? [...plain, "with secrets"] : plain;
}

/** Facts on which the texts that such a file may hold depend. */
function decodingFacts(kind: FileKind, { encoding = "", bad }: Decoding): readonly string[] {
  return mayHold(kind) || kind === "html" ? [encoding, bad] : [];
}

/** The id of the reader that makes a text of this kind. */
function readerFor(way: OriginalFile["way"], kind?: string): string {
  if ("argv" in way) return ownReader(way.argv);
  return kind === undefined && mayHold(way.kind) ? allReaders() : readerOf(kind ?? way.kind);
}

/** Ids of all readers that may make texts of documents in a load with these options. */
export function readersOf({ convert = {} }: DocumentOptions): string {
  const own = Object.values(convert).flatMap((way) => (typeof way === "object" ? [ownReader(way)] : []));
  return [allReaders(), ...own].join(", ");
}

/**
 * The rows of one sheet or table of an original: its name, and a line of JSON for each row as
 * `rows.ts` has them.
 */
interface TableText {
  readonly name: string;
  readonly lines: Uint8Array;
  readonly lost: readonly Loss[];
}

/**
 * Reads the rows of a workbook, a database or a Parquet file that a caller named.
 *
 * @throws RlmError
 */
export async function tableOfOriginal(
  path: string,
  original: OriginalFile,
  rows: RowsRequest,
  options: ReadOptions,
): Promise<TableText> {
  const answer = await converted(basename(path), original, options, rows).catch((error: unknown) => {
    throw error instanceof Unreadable
      ? documentError(path, error.message, error.reason, kindOfWay(original.way))
      : error;
  });
  const [refused] = answer.refused;
  if (refused) throw documentError(path, refused.problem, refused.reason, kindOfWay(original.way));
  const [text] = answer.texts;
  return { name: text?.name ?? "", lines: text?.text ?? new Uint8Array(), lost: text?.lost ?? [] };
}

async function converted(
  name: string,
  { way, bytes, wal, decoding }: OriginalFile,
  options: ReadOptions,
  rows?: RowsRequest,
): Promise<Answer> {
  if ("argv" in way) {
    const text = await readByOwn(way.argv, name, bytes, options);
    return { isArchive: false, texts: [text], refused: [] };
  }
  const job = { name, ...way, decoding, room: LIMITS.contextBytes, ...(rows ? { rows } : {}) };
  if (way.kind !== "sqlite") return readInChild(bytes, job, options);
  // SQLite reads files only.
  const copy = "original.sqlite";
  return withCopy({ [copy]: bytes, ...(wal ? { [`${copy}-wal`]: wal } : {}) }, (folder) =>
    readInChild(bytes, { ...job, file: join(folder, copy) }, options),
  );
}

const FORMAT = "belay-text-2";
/** The oldest texts go if all of them take more, bytes. */
const MOST_BYTES = 2 ** 30;
const NAME = /^text-[0-9a-f]{64}$/;

/** The key of a text: what was read, as what, and by which reader. */
export function textKey(facts: readonly string[], original: readonly Uint8Array[]): Promise<string> {
  return digest(JSON.stringify([FORMAT, ...facts, ...original.map(({ length }) => length)]), original);
}

/** SHA-256, hex. The thread does other things in between. */
async function digest(start: string, pieces: readonly Uint8Array[]): Promise<string> {
  const sum = createHash("sha256").update(start);
  const pause = pauses();
  for (const bytes of pieces) for await (const slice of inSlices(bytes, pause)) sum.update(slice);
  return sum.digest("hex");
}

/**
 * Texts of documents that were read before, in a folder of the user's own. They hold no path, and
 * grant nothing.
 */
export function openKeptTexts(dir: string, most = MOST_BYTES) {
  const pathOf = (key: string) => join(dir, `text-${key}`);
  return {
    async find(key: string): Promise<Answer | undefined> {
      try {
        const bytes = await readFile(pathOf(key));
        const frame = bytes.subarray(SEAL_UNITS);
        if (bytes.toString("latin1", 0, SEAL_UNITS) !== (await digest(key, [frame]))) return undefined;
        // A text that is used stays longest.
        await utimes(pathOf(key), new Date(), new Date());
        return answerOf(frameIn(frame));
      } catch {
        return undefined;
      }
    },
    async keep(key: string, answer: Answer): Promise<void> {
      const frame = answerFrame(answer);
      let room = most;
      const stays = (bytes: number) => {
        room -= bytes;
        return room >= 0;
      };
      const sealed = [Buffer.from(await digest(key, frame)), ...frame];
      await keepFile(dir, `text-${key}`, sealed, { names: NAME, few: 0, stays });
    },
  };
}

const SEAL_UNITS = 64;
