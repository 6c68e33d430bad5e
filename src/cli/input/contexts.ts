import { type Known, type KnownLoad, knownLoad, type LoadOptions, openKnownLoads } from "../../context/index.ts";
import { RlmError, type Session } from "../../index.ts";
import { indexFolder } from "../../platform/home.ts";
import type { JournalRow } from "../../store/index.ts";
import type { SessionFlags } from "../flags/session-flags.ts";
import type { ProgressLine } from "../render/progress.ts";
import { documentOptions } from "../session/settings.ts";
import { contextOf, contextSource, type OneSource } from "./sources.ts";

/** The session whose context they are to be. */
export interface Target {
  readonly session: Session;
  journal(): Promise<readonly JournalRow[]> | readonly JournalRow[];
  readonly progress: ProgressLine;
  /** The line that finishes what was interrupted in it. */
  resumeCommand(): string;
  load(source: OneSource, path: string, kind: "load" | "append", signal: AbortSignal): Promise<void>;
}

export interface NamedSource {
  readonly path: string;
  readonly source: OneSource;
}

/**
 * Brings the contexts that the user names into a session. A fresh session loads them; for another session
 * they are read again, and must be what it has.
 *
 * @param roots in which they may lie
 * @throws RlmError `context_changed`
 */
export async function bringContexts(
  {
    contexts,
    change,
    raw,
    includeSecrets: secrets,
  }: Pick<SessionFlags, "contexts" | "change" | "raw" | "includeSecrets">,
  roots: readonly string[],
  target: Target,
  signal: AbortSignal,
): Promise<void> {
  if (contexts.length === 0) return;
  const { session, progress } = target;
  const sources: NamedSource[] = [];
  for (const path of contexts) sources.push({ path, source: await contextSource(path, signal) });
  const kept = session.stats()?.context_hash ?? null;
  const holdsMore = await hasRun(target);
  if (!change && (kept || holdsMore)) {
    const hash = await hashOf(sources, { roots, documents: { ...documentOptions(), raw, secrets }, signal }, progress);
    if (hash === kept) return;
    // If nothing but loads was done, a run may have ended between two of them, and nothing can be lost.
    if (holdsMore) throw changed(kept, hash, session.unfinished() ? target.resumeCommand() : null);
  }
  for (const [index, { path, source }] of sources.entries()) {
    await target.load(source, path, index === 0 && change !== "append" ? "load" : "append", signal);
  }
}

/** True if the session has anything that a load would take away. */
async function hasRun({ journal }: Target): Promise<boolean> {
  return (await journal()).some(({ record }) => {
    const kind: unknown = "kind" in record ? record.kind : undefined;
    return record.record === "rlm_start" && kind !== "load" && kind !== "append";
  });
}

async function hashOf(
  sources: readonly NamedSource[],
  { roots, ...options }: Pick<LoadOptions, "roots" | "documents" | "signal">,
  progress: ProgressLine,
): Promise<string> {
  const [first] = sources;
  if (!first) return "";
  progress.begin(first.path);
  try {
    return await hashNow(sources, (path) => ({
      roots: [...roots, ...(path === "-" ? [] : [path])],
      cwd: process.cwd(),
      ...options,
      onProgress: (read) => progress.report({ kind: "load", ...read }),
    }));
  } finally {
    progress.end();
  }
}

/** The hash of P as the sources would make it now. Files are read only if they look otherwise than before. @throws RlmError as loading does */
export async function hashNow(
  sources: readonly NamedSource[],
  options: (path: string) => LoadOptions,
): Promise<string> {
  const dir = indexFolder(process.env);
  if (dir === undefined) return hashRead(sources, options);
  const known = { loads: openKnownLoads(dir), now: Date.now, open: async () => null };
  const all = (path: string) => ({ ...options(path), known });
  return (await hashKnown(sources, all)) ?? (await hashRead(sources, all));
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

async function hashRead(sources: readonly NamedSource[], options: (path: string) => LoadOptions): Promise<string> {
  const context = await contextOf(sources.map(({ path, source }) => ({ source, options: options(path) })));
  return context?.hash ?? "";
}

function changed(kept: string | null, now: string, resume: string | null): RlmError {
  const [has, is] = [kept, now].map((hash) => hash?.slice(0, DIGITS));
  const problem = `the session has ${has ? `the context ${has}` : "no context"}, and -c is ${is}`;
  return new RlmError("context_changed", problem, {
    suggestion: resume
      ? `\`${resume}\` finishes what was interrupted with the context that the session has; --discard --reload gives it up and loads the other one.`
      : "--reload loads it, which resets variables, helpers, memory and budget; --append adds all of it to what is there; without -c the session goes on as it is.",
  });
}

const DIGITS = 12;
