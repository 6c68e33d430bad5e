import { basename, dirname } from "node:path";
import { CHILDREN, wayOf } from "../../documents/kinds.ts";
import { jsonText } from "../../platform/visible.ts";
import type { LoadedFile } from "../context.ts";
import type { SkippedFile } from "../skipped.ts";
import { isRepository } from "./gitignore.ts";
import { type LoadOptions, lateDocument } from "./reading.ts";
import type { Refusal } from "./roots.ts";
import type { ContextSize } from "./size.ts";
import { decodingOf, type FileContent, type FileRules } from "./text-file.ts";
import type { MemberRules } from "./walk.ts";

/** A file under the names that its documents get. */
export interface NamedFile {
  readonly relative: string;
  /** Absolute, or `-`. */
  readonly path: string;
  /** Leaves members out, if it is an archive of a folder. */
  readonly rules?: MemberRules | undefined;
}

/** The documents that a file gives. `isFolder`: they are those of an archive. */
export interface FileDocuments {
  readonly files: readonly Omit<LoadedFile, "separator">[];
  readonly skipped: readonly SkippedFile[];
  readonly isFolder: boolean;
}

/** The rules by which the files of a load become text. */
export function rulesOf({ documents = {} }: Pick<LoadOptions, "documents">): FileRules {
  const repositories = new Map<string, boolean>();
  const isIn = (folder: string): boolean => {
    const known = repositories.get(folder);
    if (known !== undefined) return known;
    const is = isRepository(folder) || (dirname(folder) !== folder && isIn(dirname(folder)));
    repositories.set(folder, is);
    return is;
  };
  return {
    wayOf: (head, path) => wayOf(head, path, () => path !== basename(path) && isIn(dirname(path)), documents),
    decoding: (isNamed) => decodingOf(documents, isNamed),
  };
}

/** The documents of a file, the size of a text that is too large, or why there are none. */
type Found = FileDocuments | { readonly size: number } | Refusal;

/** The documents of a file: a text as it is, or what an original gives. A size or a refusal stays what it is. */
export function documentsOfFile(
  content: FileContent,
  file: NamedFile,
  options: LoadOptions,
  size: ContextSize = { files: 0, bytes: 0 },
): Found | Promise<Found> {
  if ("way" in content) {
    const late = lateDocument(options);
    if (late) return late;
    return import("../../documents/read.ts").then((read) => read.documentsOfOriginal(content, file, options, size));
  }
  const { relative, path } = file;
  return "bytes" in content ? { files: [{ relative, path, ...content }], skipped: [], isFolder: false } : content;
}

/** The line that names a document of a folder. */
export const separatorOf = (name: string) => `\n===== ${onLine(name)} =====\n`;

/** The line that begins what an append adds. */
export const appendedLine = (name: string) => `\n\n===== APPENDED: ${onLine(name)} =====\n\n`;

/** A name within a line of P: as JSON if it has control characters, such as a line break. */
const onLine = (name: string) => (/\p{Cc}/u.test(name) ? jsonText(name) : name);

/** A document behind what stands before it in P. Its size is added. */
export function placed(document: Omit<LoadedFile, "separator">, before: string, size: ContextSize): LoadedFile {
  const separator = Buffer.from(before);
  size.files += 1;
  size.bytes += separator.length + document.bytes.length;
  return { ...document, separator };
}

/** A document of a folder, behind the line that names it. */
export function named(document: Omit<LoadedFile, "separator">, lead: string, size: ContextSize): LoadedFile {
  return placed(document, `${lead}${separatorOf(document.relative)}`, size);
}

/** Bytes that were read, or counted. */
export function bytesOf(found: Found): number {
  return "files" in found ? found.files.reduce((sum, { bytes }) => sum + bytes.length, 0) : 0;
}

/** Items with the answers of work on them, in their order. While one waits for its answer, the work on the next ones begins. */
export async function* ahead<T, R>(items: Iterable<T>, work: (item: T) => R | Promise<R>) {
  const begun: (readonly [item: T, answer: R | Promise<R>])[] = [];
  for (const item of items) {
    const answer = work(item);
    // It is told when its turn comes, which it may not.
    if (answer instanceof Promise) answer.catch(() => {});
    begun.push([item, answer]);
    const isDue = begun.length > CHILDREN || !(begun[0]?.[1] instanceof Promise);
    for (const [first, itsAnswer] of begun.splice(0, isDue ? 1 : 0)) yield [first, await itsAnswer] as const;
  }
  for (const [item, answer] of begun) yield [item, await answer] as const;
}
