import { hash } from "node:crypto";
import { onTestFinished } from "vitest";
import type { Context, Document, LoadedFile, SmallContext } from "../../src/context/context.ts";
import { type FileText, openFileText } from "../../src/context/text/file-text.ts";
import { openTally } from "../../src/context/text/tally.ts";
import type { Text } from "../../src/context/text/text.ts";
import { writeChecked } from "../../src/platform/checked-file.ts";
import { contextOf } from "./converted.ts";
import { folderWith } from "./tree.ts";
import { writeTable } from "./write-table.ts";

// Texts and contexts of a few bytes that lie in checked files, as a load makes them of more than
// 100 MB. They are closed, and their folder is removed, when the test ends.

/** What a text in files is made of. */
interface TextParts {
  /** Valid UTF-8. Each part is a checked file. */
  readonly parts: readonly (string | Uint8Array)[];
  /** Documents of the table, by `start`; absent: none. */
  readonly documents?: readonly Document[];
  /** Absolute path of a folder that is there; absent: one of the test's own. */
  readonly folder?: string;
}

/** A text in files. Its data opens in other threads and processes too. */
export function largeText({ parts, documents = [], folder = folderWith() }: TextParts): Text<FileText> {
  const tally = openTally();
  const files = parts.map((part) => {
    const bytes = Buffer.from(part);
    const file = writeChecked(folder);
    file.put(bytes);
    tally.add(bytes);
    return { path: file.end().path, bytes: bytes.length };
  });
  const told = tally.told();
  const text = openFileText({ files, table: writeTable(folder, told, documents).path, length: told.units });
  onTestFinished(() => text[Symbol.dispose]());
  return text;
}

/**
 * The same context with its text in files, a file for each of its parts. Its hash and key are those
 * of a large context.
 */
export function inFiles(context: SmallContext, folder?: string): Context {
  let at = 0;
  const parts = context.parts.map((part) => {
    const from = at;
    at += part.bytes;
    return context.text.read(from, at);
  });
  const { documents } = context;
  const text = largeText({ parts, documents, ...(folder === undefined ? {} : { folder }) });
  const { hash: partHash } = context.parts[0] ?? { hash: "" };
  const isOne = context.parts.length === 1;
  const whole = isOne
    ? partHash
    : hash("sha256", Buffer.from(`\xff${context.parts.map((part) => part.hash).join("\n")}`, "latin1"));
  return {
    ...context,
    hash: whole,
    key: hash("sha256", `${context.key} in files`),
    text,
    documents: text.large?.documents() ?? [],
    stats: { ...context.stats, context_hash: whole, large: true },
  };
}

/** A context in files. @param loads the files of the first load and of each append */
export async function largeContext(loads: readonly (readonly LoadedFile[])[], folder?: string): Promise<Context> {
  let context: SmallContext | undefined;
  for (const files of loads) context = await contextOf(files, context);
  return inFiles(context ?? (await contextOf([])), folder);
}
