import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { isIP } from "node:net";
import { RlmError } from "../../runtime/index.ts";
import type { Store } from "../store/index.ts";
import { livePage, livePolicy } from "./file.ts";
import { lookAt } from "./look.ts";
import type { PageSource } from "./page-source.ts";
import type { Trace, Tracing } from "./trace.ts";

export interface Serving {
  readonly store: Store;
  /** The id of the session. */
  readonly id: string;
  /** The id of a session with which it is compared; null or absent: none. */
  readonly other?: string | null;
  readonly tracing: Omit<Tracing, "around" | "covered" | "now">;
  readonly source: PageSource;
  readonly now: () => number;
  /** Words of an error, as a person may read them. */
  readonly wording: (error: RlmError) => string;
  /** ms without a request after which it ends. */
  readonly idleMs: number;
}

export interface Served {
  /** The address with the token, for the browser of this user alone. */
  readonly url: string;
  /** Lines that name what could not be read at the beginning. */
  readonly damaged: readonly string[];
  /** Resolves when it has ended. */
  readonly ended: Promise<void>;
  close(): void;
}

/** Serves the page of a session on loopback. It follows a session that another process runs. */
export async function serveView(serving: Serving): Promise<Served> {
  const follower = openFollower(serving);
  const { damaged } = await follower.newest();
  const token = randomBytes(24).toString("base64url");
  const page = Buffer.from(livePage(serving.source));
  const headers = headersOf(serving.source);
  const server = createServer((request, response) => {
    void answer(request).then(
      (reply) => send(response, reply, headers),
      (error: unknown) => {
        // A defect ends one answer, and not the server.
        const told = error instanceof RlmError ? serving.wording(error) : "the session cannot be read";
        send(response, { status: error instanceof RlmError ? 404 : 500, body: told }, headers);
      },
    );
  });
  const ended = Promise.withResolvers<void>();
  const close = () => {
    clearTimeout(idle);
    server.closeAllConnections();
    server.close(() => ended.resolve());
  };
  let idle = setTimeout(close, serving.idleMs);

  async function answer(request: IncomingMessage): Promise<Reply> {
    const refusal = refused(request, portOf(server.address()));
    if (refusal) return refusal;
    const [path = "", query] = (request.url ?? "").split("?");
    if (path === "/") return { status: 200, type: "text/html; charset=utf-8", body: page };
    if (!isToken(request.headers.authorization, token)) return { status: 401, body: UNKNOWN };
    clearTimeout(idle);
    idle = setTimeout(close, serving.idleMs);
    if (path === "/head") return headReply(await follower.newest(), new URLSearchParams(query).get("after"));
    const bytes = follower.block(path.slice(1));
    if (!bytes) return { status: 404, body: "there is no such part, or a newer one is there" };
    return { status: 200, type: "application/octet-stream", body: bytes, headers: { "Content-Encoding": "gzip" } };
  }

  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  return { url: `http://127.0.0.1:${portOf(server.address())}/#token=${token}`, damaged, ended: ended.promise, close };
}

const UNKNOWN = "this address has no valid token: open the one that belay view has printed";

interface Reply {
  readonly status: number;
  readonly type?: string;
  readonly body: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

function send(
  response: ServerResponse,
  { status, type = "text/plain; charset=utf-8", body, headers }: Reply,
  all: object,
) {
  response.writeHead(status, { ...all, "Content-Type": type, ...headers });
  response.end(status === 304 ? undefined : body);
}

function headersOf(source: PageSource): Readonly<Record<string, string>> {
  return {
    "Cache-Control": "no-store",
    "Content-Security-Policy": `${livePolicy(source)}; frame-ancestors 'none'`,
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
  };
}

/** Other names of this computer, and pages of other origins, get nothing: neither data nor the page. */
function refused({ headers, method }: IncomingMessage, port: number): Reply | null {
  const hosts = [`127.0.0.1:${port}`, `localhost:${port}`];
  const { host = "", origin } = headers;
  if (!hosts.includes(host)) return { status: 403, body: "this Host is not served" };
  if (origin !== undefined && origin !== `http://${host}`) return { status: 403, body: "this Origin is not served" };
  if (method !== "GET") return { status: 405, body: "GET alone is served", headers: { Allow: "GET" } };
  return null;
}

function isToken(header: string | undefined, token: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(header ?? ""), digest(`Bearer ${token}`));
}

function portOf(address: ReturnType<ReturnType<typeof createServer>["address"]>): number {
  if (address === null || typeof address === "string" || isIP(address.address) === 0) throw new Error("no port");
  return address.port;
}

function headReply({ head, revision }: Seen, after: string | null): Reply {
  const headers = { "Belay-Revision": revision };
  if (after === revision) return { status: 304, body: "", headers };
  return { status: 200, type: "application/json", body: head, headers };
}

/** A trace with the names of its contents. */
interface Seen {
  /** JSON. */
  readonly head: string;
  readonly revision: string;
  /** Pages and chunks, by their addresses. */
  readonly blocks: ReadonlyMap<string, Uint8Array>;
  readonly damaged: readonly string[];
  /** Something may happen without a record of the session: in a child. */
  readonly isOpen: boolean;
}

/** A trace is not made anew until this many times the time has passed that the last one took, nor sooner than this: ms. */
const [PAUSE, SHORTEST] = [4, 3000];

/** Follows a session: its trace is made anew when its records or its writer have changed. */
function openFollower({ store, id, other = null, tracing, now }: Serving) {
  let seen: Seen | null = null;
  let before: Seen | null = null;
  let stamp = "";
  let [madeAt, took] = [0, 0];
  let making: Promise<Seen> | null = null;

  async function look(): Promise<Seen> {
    const row = await store.find(id);
    const beside = other === null ? null : await store.find(other);
    const newStamp = `${row?.last_seq} ${row?.busy} ${beside?.last_seq}`;
    const isDue = newStamp !== stamp || (row?.busy === true && seen?.isOpen === true && now() - madeAt > SHORTEST);
    if (seen && (!isDue || now() - madeAt < took * PAUSE)) return seen;
    const began = now();
    const { trace, damaged } = await lookAt(store, id, { ...tracing, now: began }, other);
    const made = seenIn(trace, damaged);
    if (made.revision !== seen?.revision) [before, seen] = [seen, made];
    stamp = newStamp;
    madeAt = now();
    took = madeAt - began;
    return seen ?? made;
  }

  return {
    /** The newest trace. Those who ask at once share one. */
    newest(): Promise<Seen> {
      making ??= look().finally(() => {
        making = null;
      });
      return making;
    },
    /** A page or chunk of the newest trace or of the one before, which somebody may be reading. */
    block: (address: string): Uint8Array | null => seen?.blocks.get(address) ?? before?.blocks.get(address) ?? null,
  };
}

function seenIn({ head, pages, chunks }: Trace, damaged: readonly string[]): Seen {
  const digest = (part: Uint8Array | string) => createHash("sha256").update(part).digest("base64url").slice(0, 22);
  const revisions = { pages: pages.map(digest), chunks: chunks.map(digest) };
  const { made_at: _, ...same } = head;
  const blocks = new Map([
    ...pages.map((page, at) => [`page/${at}/${revisions.pages[at]}`, page] as const),
    ...chunks.map((chunk, at) => [`chunk/${at}/${revisions.chunks[at]}`, chunk] as const),
  ]);
  const isOpen = head.execs.some(({ status }) => status === "unfinished");
  const revision = digest(JSON.stringify({ ...same, revisions }));
  return { head: JSON.stringify({ ...head, revisions }), revision, blocks, damaged, isOpen };
}
