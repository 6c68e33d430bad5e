import { basename } from "node:path";
import { setImmediate } from "node:timers/promises";
import * as v from "valibot";
import { RlmError } from "../../../runtime/index.ts";
import { type Context, namedBy, openText, type SmallContext, textFromParts } from "../../context/index.ts";
import { checkedBytes } from "../../platform/checked-file.ts";
import { isRecord, jsonOf } from "../../platform/json.ts";
import type { PartInFile, StoredContext } from "../../store/index.ts";

/** A context as the store keeps it. */
export function stored(context: Context): StoredContext {
  const { key, text, documents, routes, skips, stats } = context;
  const { data } = text;
  if ("files" in data) {
    const paths = [...data.files.map(({ path }) => path), data.table];
    const parts = paths.map((file) => ({ hash: basename(file), file }));
    return { key, parts, index: jsonOf({ documents: basename(data.table), routes, skips, stats }) };
  }
  let at = 0;
  const parts = context.parts.map((part) => {
    const bytes = data.bytes.subarray(at, at + part.bytes);
    at += part.bytes;
    return { hash: part.hash, bytes };
  });
  return { key, parts, index: jsonOf({ documents, routes, skips, stats }) };
}

type Index = Pick<Context, "routes" | "skips" | "stats">;
/** Written by `stored` and verified by the store. */
const StoredIndex = v.custom<Index & Pick<SmallContext, "documents">>(isRecord);
const LargeIndex = v.custom<Index & { /** The name of the table. */ readonly documents: string }>(isRecord);

/** The context that the store has kept. @throws RlmError `context_lost` */
export async function opened({ key, parts, index }: StoredContext): Promise<Context> {
  const files = parts.flatMap((part) => ("file" in part ? [part] : []));
  if (files.length > 0) return openedLarge(key, files, v.parse(LargeIndex, index));
  const rows = parts.flatMap((part) => ("bytes" in part ? [part] : []));
  const text = await textFromParts(
    rows.map(({ bytes }) => bytes),
    () => setImmediate(),
  );
  const { documents, routes, skips, stats } = v.parse(StoredIndex, index);
  return {
    hash: stats.context_hash,
    key,
    text,
    parts: rows.map(({ hash: part, bytes }) => ({ hash: part, bytes: bytes.length })),
    documents,
    routes,
    skips,
    stats,
  };
}

/** A context whose text lies in files, the last of which is its table. @throws RlmError `context_lost` */
function openedLarge(
  key: string,
  listed: readonly PartInFile[],
  { documents: named, routes, skips, stats }: v.InferOutput<typeof LargeIndex>,
): Context {
  const table = listed.at(-1);
  if (table?.hash !== named) throw damagedContext(key, "its table is not the last of its files");
  const files = listed.slice(0, -1).map(({ hash, file }) => ({ hash, path: file, bytes: checkedBytes(file) ?? 0 }));
  const text = openText({
    files: files.map(({ path, bytes }) => ({ path, bytes })),
    table: table.file,
    length: stats.length_chars,
    context: namedBy(stats.sources),
  });
  // A damaged table is found now, while the sources can still be read again.
  text.large?.tallied();
  return {
    hash: stats.context_hash,
    key,
    text,
    parts: files.map(({ hash, bytes }) => ({ hash, bytes })),
    documents: text.large?.documents() ?? [],
    routes,
    skips,
    stats,
  };
}

function damagedContext(key: string, why: string): RlmError {
  return new RlmError("context_lost", `context ${key}: ${why}`, { suggestion: "Load its sources again." });
}
