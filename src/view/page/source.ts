import { binarySearch } from "../../platform/binary-search.ts";
import type { Head, Texts } from "../format.ts";
import type { View } from "./view.ts";

/** The trace behind the page: in the file itself, or at the server that gave the page. */
export interface Source {
  /** True if there may be newer ones. */
  readonly isLive: boolean;
  /** The head; null if nothing has changed since the last one. */
  head(): Promise<Head | null>;
  /** A block of this head: `c0` are its first columns, `x0` its first texts. */
  block(name: string, head: Head): Promise<Response>;
}

const TOKEN = "token";

/** A server asks for the token of its address, which is taken out of the address bar. */
export function openServer(): Source {
  const place = new URLSearchParams(location.hash.slice(1));
  const token = place.get(TOKEN) ?? sessionStorage.getItem(TOKEN) ?? "";
  sessionStorage.setItem(TOKEN, token);
  place.delete(TOKEN);
  history.replaceState(null, "", `${location.pathname}#${place}`);
  let seen = "";

  async function get(path: string): Promise<Response> {
    const response = await fetch(path, { headers: { Authorization: `Bearer ${token}` }, cache: "no-store" });
    if (response.ok || response.status === 304) return response;
    throw new Error(await response.text());
  }

  return {
    isLive: true,
    async head() {
      const response = await get(`head?of=${seen}`);
      if (response.status === 304) return null;
      const head: Head = await response.json();
      seen = head.revision ?? "";
      return head;
    },
    block: (name, { revision }) => get(`${name}?of=${revision}`),
  };
}

/**
 * Chunks that stay decoded: more than rows in sight, each of which may need one.
 * And chunks that are read at once.
 */
const KEPT = 96;
const AT_ONCE = 4;

/** Texts by their numbers. Chunks are read when they are asked for, and the newest are kept. */
export function openTexts(source: Source, head: () => Head): View["texts"] {
  const ready = new Map<string, readonly Texts[]>();
  let isReading = false;

  function placeOf(text: number): { chunk: number; key: string; within: number } {
    const { chunks, hashes } = head();
    const chunk = Math.max(0, binarySearch(chunks.length, (at) => (chunks[at]?.[0] ?? 0) > text) - 1);
    return { chunk, key: hashes?.[chunk] ?? String(chunk), within: text - (chunks[chunk]?.[0] ?? 0) };
  }

  const peek = (text: number): Texts | null => {
    const { key, within } = placeOf(text);
    const texts = ready.get(key);
    // A chunk that was changed may have too few.
    return texts ? (texts[within] ?? []) : null;
  };

  /** The texts, which are read if need be; none if they are left out. */
  async function of(text: number): Promise<Texts> {
    if (head().texts === "none") return [];
    const { chunk, key, within } = placeOf(text);
    const texts: readonly Texts[] = ready.get(key) ?? (await (await source.block(`x${chunk}`, head())).json());
    ready.delete(key);
    ready.set(key, texts);
    const [oldest = ""] = ready.keys();
    if (ready.size > KEPT) ready.delete(oldest);
    return texts[within] ?? [];
  }

  return {
    of,
    peek,
    /**
     * Reads the chunks of the first few of these texts. True if one was read, false while others
     * are.
     */
    async readSome(texts: readonly number[]): Promise<boolean> {
      const byChunk = new Map(texts.map((text) => [placeOf(text).chunk, text]));
      if (isReading || byChunk.size === 0) return false;
      isReading = true;
      const some = await Promise.allSettled([...byChunk.values()].slice(0, AT_ONCE).map(of));
      isReading = false;
      return some.some(({ status }) => status === "fulfilled");
    },
  };
}
