import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { type Json, LIMITS, RlmError, remedy } from "../../../runtime/index.ts";
import { checkedBytes, isKnownDamaged, openChecked, PAGE_BYTES } from "../../platform/checked-file.ts";
import { amount, size } from "../../platform/figures.ts";
import { isRecord } from "../../platform/json.ts";
import { contextLost, misuse } from "../failure.ts";
import type { PartInFile, ReadingContext } from "../port.ts";
import { numberColumn, textColumn } from "../rows/row.ts";
import type { Dialect } from "./dialect.ts";
import { all, get, type Plan, pause, raw, run, sql } from "./sql.ts";

// Texts and tables of large contexts, in files of the store's folder of texts. A row has the name of
// each, and the bytes that it takes on disk. It is written once the file is there.

/** The name of a text, in its row and in the list of a context's parts: a part in rows has its hash there. */
const NAME = /^texts\/([0-9a-f]{64})$/;
/** Appends to a large context. Each makes a file, which several threads have open while they read the text. */
const MOST_APPENDS = 500;
/** The first text, those of appends, and the table. */
const MOST_PARTS = MOST_APPENDS + 2;
/** Bytes of all files of a context: more than one may hold, with its checksums and its table. */
const MOST_BYTES = 2 * LIMITS.mostContextMb * 2 ** 20;
const CHECKED_AT_ONCE = 16 * PAGE_BYTES;

/** True of a row of `contexts` whose parts lie in files. */
export const IS_LARGE = raw(`substr(contexts.parts, 1, 8) = '["texts/'`);

export const nameOfText = (hash: string) => `texts/${hash}`;

/** True if the parts of a context lie in files. */
export const areTexts = (parts: readonly string[]) => parts.length > 0 && parts.every((part) => NAME.test(part));

/**
 * Notes the files of a context. @param folder of the store; null: it keeps none
 * @throws RlmError `context_too_large`, `context_lost` if one of them is gone
 */
export function* insertTexts(key: string, parts: readonly PartInFile[], folder: string | null): Plan<void> {
  if (folder === null) throw onlyInFolders();
  if (parts.length > MOST_PARTS) throw appendedTooOften();
  for (const { hash, file } of parts) {
    if (file !== join(folder, hash) || !NAME.test(nameOfText(hash))) throw misuse(`${file} is not in ${folder}`);
    const { problem, bytes } = lookAt(file);
    if (problem !== null) throw contextLost(key, problem);
    yield* run(sql`INSERT INTO texts (name, bytes) VALUES (${nameOfText(hash)}, ${bytes})
      ON CONFLICT (name) DO UPDATE SET bytes = excluded.bytes`);
  }
}

/**
 * The files of a context. Their ends were read.
 * @throws RlmError `context_lost`, also if a page was found to be damaged
 */
export function filesOf(
  key: string,
  { parts, index }: NamedTexts,
  { texts: folder }: Pick<Dialect, "texts">,
  { damaged = false }: ReadingContext,
): readonly PartInFile[] {
  if (folder === null) throw contextLost(key, "its text lies in files, which only a store in a folder has");
  const wrong = wrongTexts(parts, index);
  if (wrong !== null) throw contextLost(key, wrong);
  let left = MOST_BYTES;
  return parts.map((part) => {
    const hash = NAME.exec(part)?.[1] ?? "";
    const file = join(folder, hash);
    const look = lookAt(file);
    const bytes = look.bytes;
    const problem = look.problem ?? (!damaged && isKnownDamaged(file) ? `${file} is damaged` : null);
    left -= bytes;
    if (problem !== null || left < 0) throw contextLost(key, problem ?? "its files are larger than a context can be");
    return { hash, file };
  });
}

/** The names of a context's texts, and its index, which names the table. */
interface NamedTexts {
  readonly parts: readonly string[];
  readonly index: Json;
}

/** The fault in the list of a context's texts; null: there is none. */
export function wrongTexts(parts: readonly string[], index: Json): string | null {
  if (parts.length > MOST_PARTS) return "it has more parts than a context can have";
  const table = isRecord(index) && typeof index.documents === "string" ? nameOfText(index.documents) : null;
  return parts.length > 1 && parts.at(-1) === table ? null : "its table is not the last of its files";
}

/** State of a file in the folder of texts. */
interface Look {
  /** null: it is there, and its end is whole. */
  readonly problem: string | null;
  /** Bytes that it takes. */
  readonly bytes: number;
}

function lookAt(file: string): Look {
  const stats = lstatSync(file, { throwIfNoEntry: false });
  const bytes = stats?.size ?? 0;
  if (!stats) return { problem: `${file} is missing`, bytes };
  if (!stats.isFile()) return { problem: `${file} is not a file`, bytes };
  // Before its checksums are read: they take memory by its size.
  if (bytes > MOST_BYTES) return { problem: `${file} is larger than a context can be`, bytes };
  return { problem: checkedBytes(file) === null ? `${file} was cut, or its end is damaged` : null, bytes };
}

/** A text or table that is whole, or its mark. */
const WHOLE_TEXT = /^[0-9a-f]{64}(?:\.damaged)?$/;
/** One that a killed process has not written to its end. */
const BEGUN_TEXT = /^[0-9a-f-]{36}\.\d+\.tmp$/;
const isOfTexts = (name: string) => WHOLE_TEXT.test(name) || BEGUN_TEXT.test(name);

/** Names of the texts and tables in the folder that no context needs. What others have put there is none. */
export function strayTexts(folder: string, kept: ReadonlySet<string>): readonly string[] {
  return namesIn(folder).filter((name) => isOfTexts(name) && !kept.has(nameOfText(name.replace(".damaged", ""))));
}

/** Names of the files in a folder. One that is a link leads elsewhere, and has none. */
export function namesIn(folder: string): readonly string[] {
  return lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() ? readdirSync(folder) : [];
}

/** Names that rows have. */
export function* keptTexts(): Plan<ReadonlySet<string>> {
  return new Set((yield* all(sql`SELECT name FROM texts`)).map((row) => textColumn(row, "name")));
}

/** Findings about files that no row names. */
export function* strayFiles(folder: string): Plan<readonly string[]> {
  const stray = strayTexts(folder, yield* keptTexts());
  if (stray.length === 0) return [];
  const bytes = stray.reduce((sum, name) => sum + lookAt(join(folder, name)).bytes, 0);
  const files = `${amount(stray.length, "file")} of large contexts (${size(bytes)})`;
  return [`info: no session needs ${files}: gc removes them, unless a load is under way`];
}

/** The finding about a text of which all pages are read; null if it is whole. */
export function* damageOf(name: string, folder: string): Plan<string | null> {
  const row = yield* get(sql`SELECT bytes FROM texts WHERE name = ${name}`);
  // It may be gone by the time that it is read.
  if (!row) return null;
  const hash = NAME.exec(name)?.[1];
  if (hash === undefined) return `a text has the name ${name}`;
  const file = join(folder, hash);
  const { problem, bytes } = lookAt(file);
  if (problem !== null) return problem;
  if (numberColumn(row, "bytes") !== bytes) return `${file} has ${bytes} bytes, and its row says otherwise`;
  return yield* damagedPage(file);
}

function* damagedPage(file: string): Plan<string | null> {
  const room = Buffer.allocUnsafeSlow(CHECKED_AT_ONCE);
  try {
    using text = openChecked(file);
    for (let at = 0; at < text.length; at += CHECKED_AT_ONCE) {
      text.read(at, Math.min(at + CHECKED_AT_ONCE, text.length), room);
      yield* pause();
    }
    return null;
  } catch (error) {
    if (error instanceof RlmError && error.code === "context_lost") {
      return `${error.message}: opening its session reads the sources again, if they are unchanged`;
    }
    throw error;
  }
}

function onlyInFolders(): RlmError {
  return new RlmError("context_too_large", "the text of this context is too large for a store on a server", {
    suggestion: `Only a store in a folder keeps larger ones: ${remedy("folderStore")}. Or: load a smaller folder or file.`,
  });
}

function appendedTooOften(): RlmError {
  return new RlmError("context_too_large", `a large context can be appended to ${MOST_APPENDS} times`, {
    suggestion: "Put the sources into one folder or file, and load that.",
  });
}
