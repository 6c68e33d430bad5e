import { messageOf } from "../../platform/errors.ts";
import { sha256 } from "./file.ts";

/**
 * Whole files as the model knows them, by hash: diffs begin there. Nothing of it is waited for but
 * a read.
 */
export interface Texts {
  keep(hash: string, text: string): void;
  /** `null` if the text is lost or damaged. */
  read(hash: string): Promise<string | null>;
  /** Resolves when the store has what was kept so far. */
  settled(): Promise<void>;
  /** The store's last failure, in its words; `null` if it works. */
  problem(): string | null;
}

/** A store that keeps texts over the end of a process. Both methods may reject. */
interface TextStore {
  keep(hash: string, text: string): Promise<void>;
  /** null if it is not there, or if the store is not open yet. */
  read(hash: string): Promise<string | null>;
}

/** Texts that stay in memory; each has at most 50 KB, since Pi shows no more at once. */
const IN_MEMORY = 64;
/**
 * Texts that wait for the store, at the most: one that does not answer must not fill the memory.
 */
const WAITING = 64;

export function openTexts(store: TextStore): Texts {
  const memory = new Map<string, string>();
  const waiting = new Set<Promise<void>>();
  const stored = new Set<string>();
  let problem: string | null = null;

  function remember(hash: string, text: string): void {
    memory.delete(hash);
    memory.set(hash, text);
    for (const [oldest] of memory) if (memory.size > IN_MEMORY) memory.delete(oldest);
  }

  async function put(hash: string, text: string): Promise<void> {
    try {
      await store.keep(hash, text);
      problem = null;
    } catch (error) {
      stored.delete(hash);
      problem = messageOf(error);
    }
  }

  return {
    keep(hash, text) {
      remember(hash, text);
      if (stored.has(hash) || waiting.size >= WAITING) return;
      stored.add(hash);
      const work = put(hash, text).finally(() => waiting.delete(work));
      waiting.add(work);
    },
    async read(hash) {
      const known = memory.get(hash);
      if (known !== undefined) return known;
      try {
        const text = await store.read(hash);
        if (text === null || sha256(text) !== hash) return null;
        remember(hash, text);
        return text;
      } catch (error) {
        problem = messageOf(error);
        return null;
      }
    },
    settled: async () => void (await Promise.all(waiting)),
    problem: () => problem,
  };
}

/**
 * The lines of `path:n` or `path:n-m`, with the path before them and the fault of the lines, null
 * if they can be. Returns null if the path has no such end. It may be the whole name of a file.
 */
export function suffixOf(named: string) {
  const [, path = "", first = "", last = first] = SUFFIX.exec(named) ?? [];
  if (path === "") return null;
  const start = Number(first);
  const end = Number(last);
  const range = last === first ? first : `${first}-${last}`;
  const problem = start < 1 || end < start ? badRange(range, named) : null;
  return { path, offset: start, limit: end - start + 1, problem };
}

/** The message about impossible lines. */
export function badRange(range: string, named: string): string {
  return `Invalid range ${range} in ${named}: lines count from 1, and the end is not before the start`;
}

const SUFFIX = /^(.+):(\d{1,9})(?:-(\d{1,9}))?$/s;
