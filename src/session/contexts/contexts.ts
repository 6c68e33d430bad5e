import { dirname } from "node:path";
import * as v from "valibot";
import { type Clock, hasCode, type Json, RlmError, remedy } from "../../../runtime/index.ts";
import {
  type Context,
  type DocumentOptions,
  isGone,
  type Known,
  type LoadOptions,
  load,
  openKnownLoads,
  type Source,
} from "../../context/index.ts";
import { nullIf } from "../../platform/errors.ts";
import { withoutUndefined } from "../../platform/json.ts";
import { isWithin } from "../../platform/paths.ts";
import type { Store } from "../../store/index.ts";
import type { Start } from "../journal/records.ts";
import type { StoreQuota } from "../store-quota.ts";
import { type ExcerptInput, loadExcerpt, readExcerptInput } from "./excerpts.ts";
import type { Granted } from "./granted.ts";
import { type HeldTexts, openHeldTexts } from "./held-texts.ts";
import { opened, stored } from "./stored-form.ts";

/** The input of a load or append, as the journal has it: text at hand is only named. */
export type LoadInput =
  | Readonly<v.InferOutput<typeof PathInput> | v.InferOutput<typeof PathsInput>>
  | ExcerptInput
  | { readonly name: string };

/** Options and services of a session's loads. */
export interface Loading extends Omit<LoadOptions, "roots"> {
  /** The texts that a load holds, until a session names what it made. */
  readonly heldTexts: Pick<HeldTexts, "free" | "drop">;
  /** Opens a context of the store, for a load of parts of it. @throws RlmError `context_lost` */
  contextOf(key: string): Promise<Context>;
}

/** Keeps a context, unless the store has it. @throws RlmError `store_full` if the session has no space for it */
export async function keepContext(store: Store, context: Context, space?: StoreQuota): Promise<void> {
  if (isLent(context, store.texts)) return;
  const missing = (await store.hasContext(context.key)) ? null : stored(context);
  space?.take(context, missing ? Buffer.byteLength(JSON.stringify(missing.index)) : 0);
  if (missing) await store.putContext(missing);
}

/** True for a large context of another store that the host holds for a session which goes with the process. */
function isLent({ text: { data } }: Context, texts: Store["texts"]): boolean {
  return "files" in data && texts?.isOwn === true && dirname(data.table) !== texts.folder;
}

/**
 * The context of a session, from the store. If it is damaged there, its sources are read again: they must be unchanged,
 * and the caller must allow them to be read.
 *
 * @param hash SHA-256 of P, as the journal has it
 * @throws RlmError `context_lost`
 */
export async function openContext(
  store: Store,
  { key, hash, loads }: { readonly key: string; readonly hash: string; readonly loads: readonly Start[] },
  granted: Granted,
  options: RereadOptions,
): Promise<Context> {
  const found = await storedContext(store, key).catch((error: unknown) => {
    if (hasCode(error, "context_lost")) return error;
    throw error;
  });
  if (!(found instanceof RlmError)) return found;
  try {
    const context = await readAgain(store, { key, hash, loads, found }, granted, options);
    options.onNotice(`${found.message}; its sources were read again`);
    return context;
  } catch (refusal) {
    // Of a damaged text the other pages can be read.
    const damaged = await nullIf("context_lost", store.context(key, { damaged: true }).then(opened));
    if (!damaged || !hasCode(refusal, "context_lost")) throw refusal;
    options.onNotice(`${refusal.message}. ${refusal.suggestion} The rest of it can be read`);
    return damaged;
  }
}

/** A context that the store has lost. */
interface LostContext {
  readonly key: string;
  readonly hash: string;
  readonly loads: readonly Start[];
  /** The failure to read it. */
  readonly found: RlmError;
}

/** Reads the sources of a lost context again. @throws RlmError `context_lost` */
async function readAgain(
  store: Store,
  { key, hash, loads, found }: LostContext,
  granted: Granted,
  options: RereadOptions,
): Promise<Context> {
  await using texts = openHeldTexts(store);
  const again = await loadAgain(store, loads, granted, { ...options, ...texts.loading }).catch(refusalOf);
  if (again === null) throw lost(hash, loads, found, RESTORE);
  if ("refused" in again) throw lost(hash, loads, found, again.refused);
  if (again.hash !== hash) {
    const reader = changedReader(await nullIf("context_lost", store.contextIndex(key)), again);
    if (reader === null) throw lost(hash, loads, found, RESTORE);
    throw lost(hash, loads, found, OTHER_BUILD, `; ${reader}`);
  }
  const context = { ...again, key };
  await store.putContext(stored(context));
  return context;
}

/** The ways in which the sources of a context are read again. */
interface RereadOptions extends Pick<LoadOptions, "most" | "documents" | "onProgress"> {
  /** Tells people that it was, or why it was not. */
  onNotice(text: string): void;
}

/** The cure of a refusal to read sources again; null if they cannot be read. */
function refusalOf(error: unknown): { readonly refused: string } | null {
  if (hasCode(error, "path_outside_sandbox")) return { refused: ALLOW };
  if (hasCode(error, "context_too_large")) return { refused: error.suggestion };
  return null;
}

/**
 * A clause about a document that another reader made into text than the one that does now; null if none is known. A file that has
 * changed itself tells nothing about its reader.
 * @param kept the index of the context as the store has it
 */
export function changedReader(kept: Json, { documents }: Pick<Context, "documents">): string | null {
  const read = v.safeParse(IndexSchema, kept);
  const before = new Map(read.success ? read.output.documents.map(({ id, original }) => [id, original]) : []);
  for (const { id, original } of documents) {
    const first = before.get(id);
    if (!first || first.reader === original?.reader || (original && first.sha256 !== original.sha256)) continue;
    const now = original ? `this is ${original.reader}` : "now it is loaded as it is";
    return `the text of ${id} was made by ${first.reader}, ${now}`;
  }
  return null;
}

const IndexSchema = v.object({
  documents: v.array(
    v.object({ id: v.string(), original: v.exactOptional(v.object({ reader: v.string(), sha256: v.string() })) }),
  ),
});

/**
 * The context of this key from the store, where a session that needs it keeps it.
 *
 * @throws RlmError `context_lost`, also for one that a build kept which did not note skipped files
 */
export async function storedContext(store: Pick<Store, "context">, key: string): Promise<Context> {
  return opened(await store.context(key));
}

/** Parts of a host whose session has this context: it is loaded by its key, and no path is read. */
export function contextParts(context: Context) {
  return {
    excerpt: { kind: "slice", of: context.key, ranges: [[0, context.text.length]] },
    heldContext: (key: string) => (key === context.key ? context : null),
  } as const;
}

/** Earlier loads whose contexts the store has, by the records in the folder of the indexes. */
export function knownIn(dir: string, store: Store, texts: HeldTexts, { now }: Pick<Clock, "now">): Known {
  async function open(key: string): Promise<Context | null> {
    if (!(await store.hasContext(key))) return null;
    // It may go as long as no session names it.
    await texts.hold();
    return keptContext(store, key);
  }
  return { loads: openKnownLoads(dir), now, open };
}

/** Null if the store does not have it whole. */
async function keptContext(store: Store, key: string): Promise<Context | null> {
  return (await store.hasContext(key)) ? nullIf("context_lost", storedContext(store, key)) : null;
}

/** Reads the sources of a session's context again. @returns `null` for text at hand. @throws RlmError as loading does */
async function loadAgain(
  store: Store,
  loads: readonly Start[],
  granted: Granted,
  reading: RereadOptions,
): Promise<Context | null> {
  let context: Context | null = null;
  for (const { input } of loads) {
    const source = readLoadInput(input);
    // Nothing is appended to an excerpt.
    if ("kind" in source) return loadExcerpt(source, (key) => storedContext(store, key), { cwd: "/" });
    if (!("roots" in source)) return null;
    const documents = { ...reading.documents, ...waysIn(source) };
    const options = { ...reading, roots: granted.among(source.roots), cwd: "/", documents };
    context = await load(sourceIn(source), options, context ?? undefined);
  }
  return context;
}

export function readLoadInput(input: Json): LoadInput {
  const path = v.safeParse(v.union([PathInput, PathsInput]), input);
  return path.success ? path.output : (readExcerptInput(input) ?? v.parse(NamedInput, input));
}

/** The source that a recorded load of files read. */
export function sourceIn(input: Extract<LoadInput, { readonly roots: readonly string[] }>): Source {
  return "path" in input ? { kind: "path", path: input.path } : { ...input, kind: "paths" };
}

/** The ways of loading that a caller chooses for each load. */
type LoadWays = Pick<DocumentOptions, "raw" | "secrets" | "encoding" | "lossy">;

/** The ways of a load that its record has: those that are not usual. */
export function recordedWays({ raw, secrets, encoding, lossy }: LoadWays): RecordedWays {
  return {
    ...(raw ? { raw } : {}),
    ...(secrets ? { secrets } : {}),
    ...(encoding === undefined ? {} : { encoding }),
    ...(lossy ? { lossy } : {}),
  };
}

/** The ways of a recorded load. */
export function waysIn({ raw = false, secrets = false, encoding, lossy = false }: LoadWays): Required<LoadWays> {
  return { raw, secrets, encoding, lossy };
}

const roots = v.pipe(v.fallback(v.array(v.string()), []), v.readonly());
const how = {
  raw: v.exactOptional(v.boolean()),
  secrets: v.exactOptional(v.boolean()),
  encoding: v.exactOptional(v.string()),
  lossy: v.exactOptional(v.boolean()),
};
type RecordedWays = v.InferOutput<v.ObjectSchema<typeof how, undefined>>;
/** The path is absolute. */
const PathInput = v.object({ path: v.string(), roots, ...how });

const count = v.exactOptional(v.number());
/** The input of a source that has several places. Builds that do not know it tell its name. */
const PathsInput = v.object({
  name: v.string(),
  paths: v.pipe(v.array(v.string()), v.readonly()),
  folder: v.string(),
  most: v.object({ files: count, bytes: count }),
  roots,
  ...how,
});
const NamedInput = v.fallback(v.object({ name: v.string() }), { name: "a text without a name" });

const RESTORE = "Restore these sources as they were, or load the context in another session.";
const OTHER_BUILD = "Open the session with the build of Belay that loaded it, or load the context in another session.";
const ALLOW = `Its sources may not be read again: ${remedy("addRoot")}, or load the context in another session.`;

function lost(hash: string, loads: readonly Start[], cause: RlmError, suggestion: string, why = ""): RlmError {
  const names = loads.map(({ input }) => nameOf(readLoadInput(input))).join(", ");
  return new RlmError("context_lost", `the context ${hash} (${names}) is lost: ${cause.message}${why}`, {
    suggestion,
    cause,
  });
}

function nameOf(source: LoadInput): string {
  if ("path" in source) return source.path;
  if (!("kind" in source)) return source.name;
  return "of" in source ? `a part of the context ${source.of}` : "a text of a sub-call";
}

/**
 * Paths of files that differ from what is loaded: changed ones, new ones in a folder, and ones that are gone. If no file looks
 * differently from before, none is read. A source that may no longer be read is skipped.
 */
export async function changedFiles(
  context: Context,
  loads: readonly Start[],
  granted: Granted,
  loading: Loading,
): Promise<readonly string[]> {
  const found = new Set<string>();
  const allowed: string[] = [];
  const known = loading.known && {
    ...loading.known,
    open: async (key: string) => (key === context.key ? context : null),
  };
  const sources = new Map(loads.map(({ input }) => [JSON.stringify(input), readLoadInput(input)]));
  for (const source of sources.values()) {
    if (!("roots" in source)) continue;
    const documents = { ...loading.documents, ...waysIn(source) };
    const roots = granted.among(source.roots);
    allowed.push(...roots);
    const most = context.text.large ? twice(context) : loading.most;
    const options = { ...loading, roots, documents, onProgress() {}, ...withoutUndefined({ known, most }) };
    // An append takes what is new or has changed.
    const after = await load(sourceIn(source), options, context).catch((error: unknown) => {
      // So much is new that it is not compared.
      if (context.text.large && hasCode(error, "context_too_large")) found.add(nameOf(source));
      if (error instanceof RlmError && error.code !== "cancelled") return context;
      throw error;
    });
    for (let n = context.documents.length; n < after.documents.length; n++) {
      found.add(after.documents.at(n)?.path ?? nameOf(source));
    }
  }
  // Texts of changed files were written only to be compared.
  await loading.heldTexts.drop();
  for (const { path, replaced_by } of context.documents) {
    const isAllowed = allowed.some((root) => isWithin(root, path));
    if (isAllowed && replaced_by === undefined && isGone(path)) found.add(path);
  }
  return [...found];
}

/** Room for all files of a context and for their newer texts, which are written only to be compared. */
function twice({ documents, text }: Context): NonNullable<LoadOptions["most"]> {
  return { files: 2 * documents.length, bytes: 2 * text.bytes };
}
