import { availableParallelism } from "node:os";
import { extensionOf, type FileKind, kindOf } from "./kinds.ts";

// A load without documents takes this much of them: the rest is imported when a file is to become text.

/** The number of documents that are read at once. */
export const CHILDREN = Math.max(1, Math.min(4, availableParallelism() - 1));

/** The user's converters by extension: arguments, of which `{}` is the path of a copy; false: as it is; true: in a repository too. */
export type Converters = Readonly<Record<string, readonly string[] | boolean>>;

/** Which files load, and how documents become text. */
export interface DocumentOptions {
  /** Loads files of a folder that may contain secrets, by their names (default false). */
  readonly secrets?: boolean;
  /** Loads files as they are (default false). */
  readonly raw?: boolean;
  readonly convert?: Converters;
  /** Folder that keeps converted texts for later loads. */
  readonly keptIn?: string;
}

/** The way in which a file becomes text. */
export type Way =
  | { readonly kind: FileKind /** Extensions of members that stay as they are. */; readonly plain: readonly string[] }
  | { readonly argv: readonly string[] };

/** An original that was read whole. */
export interface OriginalFile {
  readonly way: Way;
  readonly bytes: Uint8Array;
  /** The log of a database that stands beside it. */
  readonly wal?: Uint8Array;
}

/** The way in which a file becomes text, by its first bytes and its name; null: it is a text already. HTML is source in a repository. */
export function wayOf(
  head: Uint8Array,
  name: string,
  isInRepository: () => boolean,
  { raw = false, convert = {} }: DocumentOptions,
): Way | null {
  const extension = extensionOf(name);
  const setting = Object.hasOwn(convert, extension) ? convert[extension] : undefined;
  if (raw || setting === false) return null;
  if (typeof setting === "object") return { argv: setting };
  const kind = kindOf(head, name);
  if (kind === null || (kind === "html" && setting !== true && isInRepository())) return null;
  return { kind, plain: mayHold(kind) ? plainIn(convert, isInRepository()) : [] };
}

const MARKUP = ["htm", "html", "xhtml"];

function plainIn(convert: Converters, isInRepository: boolean): string[] {
  const left = Object.keys(convert).filter((extension) => convert[extension] === false);
  return [...left, ...MARKUP.filter((extension) => isInRepository && convert[extension] !== true)].sort();
}

/** True for an archive, packed or not: it may need any reader. */
export const mayHold = (kind: FileKind) => kind === "zip" || kind === "gz" || kind === "zst" || kind === "tar";
