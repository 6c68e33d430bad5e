import { type Known, type KnownLoad, knownLoad, type LoadOptions, openKnownLoads } from "../../context/index.ts";
import { RlmError } from "../../index.ts";
import { indexFolder } from "../../platform/home.ts";
import { given } from "../../platform/json.ts";
import type { SessionFlags } from "../flags/session-flags.ts";
import type { CliSession } from "../session/session.ts";
import { documentOptions } from "../session/settings.ts";
import { contextOf, contextSource, type OneSource } from "./sources.ts";

interface NamedSource {
  readonly path: string;
  readonly source: OneSource;
}

/**
 * Looks at the contexts that the user names for a session. A fresh session is to load them; for another session
 * they are read again, and must be what it has. Returns what loads them; the session is as it was until then.
 *
 * @throws RlmError `context_changed`
 */
export async function contextsToBring(
  { session, kept, progress, roots, resumeCommand, bring }: CliSession,
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
    const hash = await hashNow(sources, (path) => ({
      roots: [...roots, ...(path === "-" ? [] : [path])],
      cwd: process.cwd(),
      ...{ documents, signal },
      onProgress: (read) => progress.report({ kind: "load", ...read }),
    })).finally(() => progress.end());
    if (hash === has) return nothing;
    // If nothing but loads was done, a run may have ended between two of them, and nothing can be lost.
    if (holdsMore) throw changed(has, hash, session.unfinished() ? resumeCommand() : null);
  }
  return async () => {
    for (const [index, { path, source }] of sources.entries()) {
      await bring(source, path, index === 0 && change !== "append" ? "load" : "append", signal);
    }
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

/** The hash of P as the sources would make it now. Files are read only if they look otherwise than before. @throws RlmError as loading does */
export async function hashNow(sources: readonly NamedSource[], options: (path: string) => LoadOptions) {
  const dir = indexFolder(process.env);
  const known = dir === undefined ? undefined : { loads: openKnownLoads(dir), now: Date.now, open: async () => null };
  const hash = known && (await hashKnown(sources, (path) => ({ ...options(path), known })));
  if (hash !== undefined) return hash;
  const all = sources.map(({ path, source }) => ({ source, options: { ...options(path), ...given({ known }) } }));
  return (await contextOf(all))?.hash ?? "";
}

async function hashKnown(
  sources: readonly NamedSource[],
  options: (path: string) => LoadOptions & { readonly known: Known },
): Promise<string | undefined> {
  let last: KnownLoad | undefined;
  for (const { path, source } of sources) {
    if (typeof source !== "string") return undefined;
    last = await knownLoad(source, last?.key ?? null, options(path));
    if (last === undefined) return undefined;
  }
  return last?.hash;
}

function changed(kept: string | null, now: string, resume: string | null): RlmError {
  const [has, is] = [kept, now].map((hash) => hash?.slice(0, DIGITS));
  const problem = `the session has ${has ? `the context ${has}` : "no context"}, and -c is ${is}`;
  return new RlmError("context_changed", problem, {
    suggestion: resume
      ? `\`${resume}\` finishes what was interrupted with the context that the session has; --discard --reload gives it up and loads the other one.`
      : "--reload loads it, which resets variables, helpers, memory and budget; --append adds what is new or changed, and marks the older texts replaced_by in list_docs(); without -c the session goes on as it is.",
  });
}

const DIGITS = 12;
