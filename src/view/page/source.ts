import type { Head, Texts } from "../format.ts";

/** The trace behind the page: in the file itself, or at the server that gave the page. */
export interface Source {
  /** True if there may be newer ones. */
  readonly isLive: boolean;
  /** The head; null if nothing has changed since the last one. */
  head(): Promise<Head | null>;
  /** A page of columns of this head. */
  page(head: Head, page: number): Promise<Uint8Array>;
  /** The texts of a chunk of this head. */
  chunk(head: Head, chunk: number): Promise<string>;
}

/** A file has its blocks in elements; behind this mark are the texts, which may still be on their way. */
export function openFile(): Source {
  return {
    isLive: false,
    head: async () => JSON.parse(await new Response(await block("head")).text()),
    page: async (_head, page) => new Uint8Array(await new Response(await block(`c${page}`)).arrayBuffer()),
    chunk: async (_head, chunk) => new Response(await block(`x${chunk}`)).text(),
  };
}

async function block(id: string): Promise<ReadableStream> {
  while (!document.getElementById(id)?.nextElementSibling && document.readyState === "loading") {
    await new Promise((resolve) => requestAnimationFrame(resolve));
  }
  const text = document.getElementById(id)?.textContent;
  if (!text) throw new Error(`the file is cut: its part ${id} is missing`);
  return unpacked(Uint8Array.from(atob(text), (character) => character.charCodeAt(0)));
}

const unpacked = (bytes: Uint8Array<ArrayBuffer>) =>
  new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));

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
      const response = await get(`/head?after=${seen}`);
      if (response.status === 304) return null;
      seen = response.headers.get("Belay-Revision") ?? "";
      return response.json();
    },
    page: async ({ revisions }, page) =>
      new Uint8Array(await (await get(`/page/${page}/${revisions?.pages[page]}`)).arrayBuffer()),
    chunk: async ({ revisions }, chunk) => (await get(`/chunk/${chunk}/${revisions?.chunks[chunk]}`)).text(),
  };
}

/** The number of chunks that stay decoded. */
const KEPT = 12;

/** Texts by their numbers. Chunks are read when they are asked for, and the newest are kept. */
export function openTexts(source: Source, head: () => Head) {
  const reading = new Map<string, Promise<readonly Texts[]>>();
  const ready = new Map<string, readonly Texts[]>();
  const keyOf = (chunk: number) => head().revisions?.chunks[chunk] ?? String(chunk);

  async function read(chunk: number): Promise<readonly Texts[]> {
    const key = keyOf(chunk);
    const found = reading.get(key) ?? source.chunk(head(), chunk).then(textsIn);
    reading.delete(key);
    reading.set(key, found);
    const [oldest] = reading.keys();
    if (reading.size > KEPT && oldest !== undefined) {
      reading.delete(oldest);
      ready.delete(oldest);
    }
    found.catch(() => reading.delete(key));
    ready.set(key, await found);
    return found;
  }

  let isReading = false;
  /** Reads the first few of these chunks. True if one was read, false while others are. */
  async function readSome(chunks: ReadonlySet<number>): Promise<boolean> {
    if (chunks.size === 0 || isReading) return false;
    isReading = true;
    const some = await Promise.allSettled([...chunks].slice(0, 4).map(read));
    isReading = false;
    return some.some(({ status }) => status === "fulfilled");
  }

  function chunkOf(text: number): number {
    const { chunks } = head();
    let [low, high] = [0, chunks.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((chunks[middle]?.[0] ?? 0) <= text) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  const within = (text: number) => text - (head().chunks[chunkOf(text)]?.[0] ?? 0);
  return {
    chunkOf,
    read,
    readSome,
    /** The texts if their chunk is at hand, else null. */
    peek: (text: number): Texts | null => ready.get(keyOf(chunkOf(text)))?.[within(text)] ?? null,
    /** The texts, which are read if need be; none if they are left out. */
    of: async (text: number): Promise<Texts> =>
      head().texts === "none" ? [] : ((await read(chunkOf(text)))[within(text)] ?? []),
  };
}

export type OpenedTexts = ReturnType<typeof openTexts>;

const textsIn = (json: string): readonly Texts[] => JSON.parse(json);
