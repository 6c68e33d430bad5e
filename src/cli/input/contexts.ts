import { hasCode } from "../../../runtime/index.ts";
import {
  type Context,
  type ContextSize,
  type Known,
  type KnownLoad,
  knownLoad,
  type LoadOptions,
  type LoadProgress,
  NOTHING_SKIPPED,
  openKnownLoads,
  type SkippedStats,
} from "../../context/index.ts";
import { describeWhole } from "../../history/index.ts";
import { LIMITS, RlmError, type Session } from "../../index.ts";
import { nullIf } from "../../platform/errors.ts";
import { indexFolder } from "../../platform/home.ts";
import { withoutUndefined } from "../../platform/json.ts";
import { coveredContext, storedContext } from "../../session/index.ts";
import { openStore, type Store } from "../../store/index.ts";
import type { SessionFlags } from "../flags/session-flags.ts";
import type { CliSession } from "../session/session.ts";
import { documentOptions } from "../session/settings.ts";
import { contextOf, contextSource, type OneSource } from "./sources.ts";

interface NamedSource {
  readonly path: string;
  readonly source: OneSource;
}

/**
 * Looks at the contexts that the user names for a session. A fresh session is to load them; for
 * another session they are read again, and must be what it has. Returns what loads them; the
 * session is as it was until then.
 *
 * @throws RlmError `context_changed`
 */
export async function contextsToBring(
  { session, kept, progress, roots, most, resumeCommand, bring }: CliSession,
  { contexts, change, loading }: SessionFlags,
  signal: AbortSignal,
): Promise<() => Promise<void>> {
  const nothing = async () => {};
  if (contexts.length === 0) return nothing;
  const sources: NamedSource[] = [];
  for (const path of contexts) sources.push({ path, source: await contextSource(path, signal) });
  const has = session.stats()?.context_hash ?? null;
  const holdsMore = await hasRun({ session, kept });
  if (!change && (has || holdsMore)) {
    const { includeSecrets: secrets, ...how } = loading;
    const documents = { ...documentOptions(), ...how, secrets };
    progress.begin(contexts.join(", "));
    const expected = await largeContextOf(session, kept?.store);
    const optionsFor = (path: string) => ({
      ...(expected ? { expected: expected.text } : {}),
      roots: [...roots, ...(path === "-" ? [] : [path])],
      cwd: process.cwd(),
      documents,
      most,
      signal,
      // Where its text lies until its hash is known is nobody's concern.
      onProgress: ({ texts: _texts, ...read }: LoadProgress) => progress.report({ kind: "load", ...read }),
    });
    const now = await contextNow(sources, optionsFor, kept?.store ?? null)
      .catch(differenceIn(sizeOf(session, expected), most))
      .finally(() => {
        progress.end();
        expected?.text[Symbol.dispose]();
      });
    if ("hash" in now && now.hash === has) {
      const isSame = JSON.stringify(now.skipped) === JSON.stringify(session.stats()?.skipped);
      const canAppend = !session.unfinished() && sources.every(({ source }) => typeof source === "string");
      if (isSame || !canAppend) return nothing;
      // The text is the same, and other files than before could not be read.
      return async () => {
        for (const { path, source } of sources) await bring(source, path, "append", signal);
      };
    }
    // If nothing but loads was done, a run may have ended between two of them, and nothing can be
    // lost.
    if (holdsMore) throw changed(has, now, session.unfinished() ? resumeCommand() : null);
  }
  return async () => {
    for (const [index, { path, source }] of sources.entries()) {
      await bring(source, path, index === 0 && change !== "append" ? "load" : "append", signal);
    }
  };
}

/** The large context of a session; undefined: it has none. */
async function largeContextOf(session: Session, store: Store | undefined): Promise<Context | undefined> {
  if (!store || !session.stats()?.large) return undefined;
  const { key } = await describeWhole(store, session.id);
  return (key === null ? null : await nullIf("context_lost", storedContext(store, key))) ?? undefined;
}

/** Bytes of UTF-8 of a unit of UTF-16, at most. */
const MOST_UNIT_BYTES = 3;

/** The most that the context of a session can have. */
function sizeOf(session: Session, large: Context | undefined): ContextSize {
  const { document_count: files = 0, length_chars = 0 } = session.stats() ?? {};
  return { files, bytes: large?.text.bytes ?? Math.min(length_chars * MOST_UNIT_BYTES, LIMITS.contextBytes) };
}

/** A difference of the sources from a context that was found before all of them were read. */
interface Difference {
  /** A clause about it. */
  readonly problem: string;
  /** The cure for sources that are too large now. */
  readonly cure: string | null;
}

/** Takes the failure to read sources again for a difference, if it is one. @param size of the context that they gave */
function differenceIn(size: ContextSize, most: Readonly<ContextSize>): (error: unknown) => Difference {
  const wasWithin = size.files <= most.files && size.bytes <= most.bytes;
  return (error) => {
    if (hasCode(error, "context_changed")) return { problem: error.message, cure: null };
    // A source that was within the limits has changed if it is not any more.
    if (wasWithin && hasCode(error, "context_too_large")) return { problem: error.message, cure: error.suggestion };
    throw error;
  };
}

/** True if the session has anything that a load would take away. */
async function hasRun({ session, kept }: Pick<CliSession, "session" | "kept">): Promise<boolean> {
  const journal = (await kept?.store.journal(session.id)) ?? [];
  return journal.some(({ record }) => {
    const kind: unknown = "kind" in record ? record.kind : undefined;
    return record.record === "rlm_start" && kind !== "load" && kind !== "append";
  });
}

/** The context as the sources would make it now. */
interface ContextNow {
  /** SHA-256 of P. */
  readonly hash: string;
  readonly skipped: SkippedStats;
}

/**
 * Returns the context as the sources would make it now. Files are read only if they look different
 * from before, and a large text of them lies on disk only until its hash is known.
 *
 * @param store the store that may keep it; null: none does
 * @throws RlmError as loading does
 */
export async function contextNow(
  sources: readonly NamedSource[],
  options: (path: string) => LoadOptions,
  store: Pick<Store, "contextIndex" | "texts"> | null,
): Promise<ContextNow> {
  const dir = indexFolder(process.env);
  const known = dir === undefined ? undefined : { loads: openKnownLoads(dir), now: Date.now, open: async () => null };
  await using scratch = openScratch();
  const texts = store?.texts ? { texts: scratch.folder } : {};
  const load = known && store && (await loadKnown(sources, (path) => ({ ...options(path), ...texts, known })));
  const covered = load && store && (await coveredContext(store, load.key));
  if (covered) return { hash: load.hash, skipped: covered.skipped };
  const all = sources.map(({ path, source }) => ({
    source,
    options: { ...options(path), ...texts, ...withoutUndefined({ known }) },
  }));
  const context = await contextOf(all);
  return { hash: context?.hash ?? "", skipped: context?.stats.skipped ?? NOTHING_SKIPPED };
}

/** A folder for large texts, which is made when one is needed and goes when this is disposed. */
interface Scratch extends AsyncDisposable {
  folder(): Promise<string>;
}

function openScratch(): Scratch {
  let made: Promise<Store> | undefined;
  return {
    async folder() {
      made ??= openStore(null);
      const { texts } = await made;
      if (!texts) throw new Error("a store in memory keeps large texts");
      // No other process knows of this folder, so that nothing is removed from it.
      await texts.hold();
      return texts.folder;
    },
    async [Symbol.asyncDispose]() {
      await (await made)?.[Symbol.asyncDispose]();
    },
  };
}

async function loadKnown(
  sources: readonly NamedSource[],
  options: (path: string) => LoadOptions & { readonly known: Known },
): Promise<KnownLoad | undefined> {
  let last: KnownLoad | undefined;
  for (const { path, source } of sources) {
    if (typeof source !== "string") return undefined;
    last = await knownLoad(source, last?.key ?? null, options(path));
    if (last === undefined) return undefined;
  }
  return last;
}

function changed(kept: string | null, now: ContextNow | Difference, resume: string | null): RlmError {
  const has = kept === null ? "no context" : `the context ${kept.slice(0, DIGITS)}`;
  const is = "hash" in now ? `is ${now.hash.slice(0, DIGITS)}` : `differs: ${now.problem}`;
  const problem = `the session has ${has}, and -c ${is}`;
  if ("cure" in now && now.cure !== null && !resume) {
    return new RlmError("context_changed", problem, {
      suggestion: `Without -c the session goes on as it is. To load it with --reload: ${now.cure}`,
    });
  }
  return new RlmError("context_changed", problem, {
    suggestion: resume
      ? `\`${resume}\` finishes what was interrupted with the context that the session has; the same line with \`--discard --reload\` gives it up and loads the other one.`
      : "--reload loads it, which resets variables, helpers, memory and budget; --append adds what is new or changed, and marks the older texts replaced_by in list_docs(); without -c the session goes on as it is.",
  });
}

const DIGITS = 12;
