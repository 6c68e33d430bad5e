import { createHash } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import { RlmError } from "../../runtime/index.ts";
import { bears, foreignHeader, listenOnLoopback, newToken } from "../platform/loopback.ts";
import type { Store } from "../store/index.ts";
import { livePage, livePolicy } from "./file.ts";
import type { PageSource } from "./page-source.ts";
import { type Looked, lookAt } from "./session-trace.ts";
import type { Tracing } from "./trace-file.ts";

/** Something that has a page and may change. */
export interface Subject {
  /** The id of the session or the run. */
  readonly key: string;
  /** A text that changes when there is something new, and whether it is being worked on. */
  stamp(): Promise<{ readonly stamp: string; readonly isBusy: boolean }>;
  look(tracing: Tracing): Promise<Looked>;
  /** The session of the job of this number; null: the run has none such. Absent of a session. */
  job?(number: number): Promise<Subject | null>;
}

/**
 * The page of a stored session.
 *
 * @param label its name, if it is a job's.
 * @param other the id of a session with which it is compared; null: none
 */
export function sessionSubject(store: Store, id: string, label?: string, other: string | null = null): Subject {
  return {
    key: id,
    async stamp() {
      const row = await store.find(id);
      const beside = other === null ? null : await store.find(other);
      return { stamp: `${row?.last_seq} ${row?.busy} ${beside?.last_seq}`, isBusy: row?.busy === true };
    },
    look: (tracing) => lookAt(store, id, label === undefined ? tracing : { ...tracing, label }, other),
  };
}

interface Serving {
  readonly subject: Subject;
  readonly tracing: Omit<Tracing, "now">;
  readonly source: PageSource;
  readonly now: () => number;
  /** Words of an error, as a person may read them. */
  readonly wording: (error: RlmError) => string;
  /** ms without a request after which it ends. */
  readonly idleMs: number;
}

/** A page that is served. */
export interface Served {
  /** Its address, with the token: for this user's browser alone. */
  readonly url: string;
  /** The parts that could not be read at first. */
  readonly damaged: readonly string[];
  /** Resolves when it has ended. */
  readonly ended: Promise<void>;
  close(): void;
}

/** Serves a page on loopback. It follows a session or a run on which another process works. */
export async function serveView(serving: Serving): Promise<Served> {
  const own = openFollower(serving.subject, serving);
  const jobs = openJobs(serving);
  const { damaged } = await own.newest();
  const token = newToken();
  const page = Buffer.from(livePage(serving.source));
  let port = 0;
  const server = createServer(async (request, response) => {
    const { status, body, headers } = await answer(request).catch((error: unknown) =>
      // A defect ends one answer, and not the server.
      error instanceof RlmError ? reply(404, serving.wording(error)) : reply(500, "the session cannot be read"),
    );
    response.writeHead(status, { ...headersFor(serving.source), ...headers });
    response.end(status === 304 ? undefined : body);
  });
  const ended = Promise.withResolvers<void>();
  const close = () => {
    clearTimeout(idle);
    server.closeAllConnections();
    server.close(() => ended.resolve());
  };
  let idle = setTimeout(close, serving.idleMs);

  async function answer(request: IncomingMessage) {
    const refusal = refused(request, port);
    if (refusal) return refusal;
    const [path = "", query] = (request.url ?? "").split("?");
    const [, job = null, part] = /^\/(?:job\/(\d{1,9})\/)?(\w*)$/.exec(path) ?? [];
    if (part === "") return reply(200, page, { "Content-Type": "text/html; charset=utf-8" });
    if (!bears(request.headers.authorization, token)) return reply(401, UNKNOWN);
    clearTimeout(idle);
    idle = setTimeout(close, serving.idleMs);
    const follower = job === null ? own : await jobs(Number(job));
    const revision = new URLSearchParams(query).get("of") ?? "";
    if (part === "head" && follower) {
      const newest = await follower.newest();
      if (newest.revision === revision) return reply(304, "");
      return reply(200, newest.head, { "Content-Type": "application/json" });
    }
    const block = follower?.block(part ?? "", revision);
    return block ? reply(200, block, PACKED) : reply(404, "there is no such part, or a newer one is there");
  }

  port = await listenOnLoopback(server, 0);
  return { url: `http://127.0.0.1:${port}/#token=${token}`, damaged, ended: ended.promise, close };
}

const UNKNOWN = "this address has no valid token: open the one that belay view has printed";
const PACKED = { "Content-Type": "application/octet-stream", "Content-Encoding": "gzip" };

function reply(status: number, body: string | Uint8Array, headers: Readonly<Record<string, string>> = {}) {
  return { status, body, headers };
}

const headersFor = (source: PageSource) => ({
  "Cache-Control": "no-store",
  "Content-Security-Policy": `${livePolicy(source)}; frame-ancestors 'none'`,
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Content-Type": "text/plain; charset=utf-8",
});

/**
 * Other names of this computer, and pages of other origins, get nothing: neither data nor the
 * page.
 */
function refused(request: IncomingMessage, port: number) {
  const foreign = foreignHeader(request, port);
  if (foreign) return reply(403, `this ${foreign} is not served`);
  if (request.method !== "GET") return reply(405, "GET alone is served", { Allow: "GET" });
  return null;
}

/** Jobs whose sessions are held in memory at once, for those who look at them. */
const MOST_JOBS = 4;

/** Gives followers of the sessions of jobs. */
function openJobs(serving: Serving) {
  const ofJobs = new Map<string, Follower>();
  return async (number: number) => {
    const subject = await serving.subject.job?.(number);
    if (!subject) return null;
    const follower = ofJobs.get(subject.key) ?? openFollower(subject, serving);
    ofJobs.delete(subject.key);
    ofJobs.set(subject.key, follower);
    const [oldest = ""] = ofJobs.keys();
    if (ofJobs.size > MOST_JOBS) ofJobs.delete(oldest);
    return follower;
  };
}

/** A trace as it was seen, with its pages and chunks as a file names them. */
interface Seen {
  /** JSON of its head. */
  readonly head: string;
  /** A text that changes with its content. */
  readonly revision: string;
  readonly blocks: ReadonlyMap<string, Uint8Array>;
  readonly damaged: readonly string[];
  /** True if something may still happen in it, such as in a child. */
  readonly isOpen: boolean;
}

interface Follower {
  /** The newest trace. Those who ask at once share one. */
  newest(): Promise<Seen>;
  /** A page or chunk of the newest trace or of the one before, which a visitor may be reading. */
  block(name: string, revision: string): Uint8Array | null;
}

/**
 * A trace is not made anew until this many times the time has passed that the last one
 * took, nor sooner than this: ms.
 */
const PAUSE = 4;
const SHORTEST = 3000;

/** Follows a subject: its trace is made anew when its records or its writer have changed. */
function openFollower(subject: Subject, { tracing, now }: Serving): Follower {
  let seen: Seen | null = null;
  let before: Seen | null = null;
  let stamp = "";
  let madeAt = 0;
  let took = 0;
  let making: Promise<Seen> | null = null;

  async function look(): Promise<Seen> {
    const { stamp: newStamp, isBusy } = await subject.stamp();
    const isDue = newStamp !== stamp || (isBusy && seen?.isOpen === true && now() - madeAt > SHORTEST);
    if (seen && (!isDue || now() - madeAt < took * PAUSE)) return seen;
    const began = now();
    const made = seenIn(await subject.look({ ...tracing, now: began }));
    if (made.revision !== seen?.revision) {
      before = seen;
      seen = made;
    }
    stamp = newStamp;
    madeAt = now();
    took = madeAt - began;
    return seen ?? made;
  }

  return {
    newest() {
      making ??= look().finally(() => {
        making = null;
      });
      return making;
    },
    block: (name, revision) => [seen, before].find((one) => one?.revision === revision)?.blocks.get(name) ?? null,
  };
}

function seenIn({ trace: { head, pages, chunks }, damaged }: Looked): Seen {
  const named = (name: string, all: readonly Uint8Array[]) => all.map((bytes, at) => [`${name}${at}`, bytes] as const);
  const blocks = new Map<string, Uint8Array>([...named("c", pages), ...named("x", chunks)]);
  const { made_at: _, ...same } = head;
  const digest = (bytes: Uint8Array | string) => createHash("sha256").update(bytes).digest("base64url");
  const hashes = chunks.map(digest);
  const revision = digest(JSON.stringify([same, pages.map(digest), hashes]));
  const isOpen = head.execs.some(({ status }) => status === "unfinished");
  return { head: JSON.stringify({ ...head, revision, hashes }), revision, blocks, damaged, isOpen };
}
