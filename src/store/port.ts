import type { GuestImage, ImageMeta, ImagePages, Json } from "../../runtime/index.ts";
import type { BatchStore } from "./batch-store.ts";
import type { DamagedRow, Discarding, JobKey, Jobs, NewAnswer, Settled, Try } from "./job-store.ts";

/**
 * Keeps sessions. The store knows rows, not what they mean: a journal record is JSON with a kind, a
 * checkpoint an image with JSON beside it. Every method may reject with `RlmError` (`store_failed`,
 * `store_corrupt` and what each names); then nothing of that call was kept. Calls are carried out
 * in the order in which they are made.
 */
export interface Store extends AsyncDisposable {
  /** Makes a session and takes its lease. @throws `session_exists` for a name that is taken */
  create(session: NewSession): Promise<Lease>;
  /** Takes the lease of a session: until `release` or the end of the process no other process writes to it. @throws
   * `session_busy` naming the process that has it, `session_not_found` */
  lease(id: string): Promise<Lease>;
  release(id: string): Promise<void>;
  /**
   * By name, id or the end of an id (six characters or more) that fits one session alone; null if
   * there is none.
   */
  find(nameOrId: string): Promise<SessionRow | null>;
  /**
   * A page of the sessions but children, the one changed last first. `everySession` reads them all.
   * @throws `store_corrupt` if a row of the page is damaged
   */
  list(page: SessionPage): Promise<readonly SessionRow[]>;
  /** Sessions but children whose rows cannot be read. */
  damaged(): Promise<readonly DamagedRow[]>;

  /**
   * One transaction, on disk when this resolves. The caller holds the lease. Answers the bytes that
   * the session takes more.
   * @throws `lease_lost`, `store_full`
   */
  commit(session: string, step: Step): Promise<number>;
  /**
   * Takes ends that nothing needs any more from the session, in one transaction. The head, whole
   * images and those that a fork began at stay. The caller holds the lease. Answers the bytes that
   * the session takes more: fewer than none, as a rule.
   */
  thin(session: string, ends: readonly string[]): Promise<number>;
  /**
   * The session's records from `from` on (default: the first), verified.
   *
   * @throws `store_corrupt` naming seq
   */
  journal(session: string, from?: number): Promise<readonly JournalRow[]>;

  /** Records and checkpoints of a session as far as they are whole, also if others are damaged. */
  readable(session: string): Promise<Readable>;

  /** Checkpoints of a session, the oldest first; baselines are not among them. */
  checkpoints(session: string): Promise<readonly CheckpointRow[]>;
  /** One checkpoint, verified. @throws `checkpoint_lost` if it is missing or damaged */
  checkpoint(id: string): Promise<CheckpointRow>;
  /**
   * The image of a checkpoint or baseline, put together from its bases and verified.
   *
   * @throws `checkpoint_lost`
   */
  image(id: string): Promise<GuestImage>;
  /** A fresh guest's image, kept once for all sessions. Does nothing if it is there already. */
  putBaseline(id: string, meta: ImageMeta, pages: ImagePages): Promise<void>;
  hasBaseline(id: string): Promise<boolean>;

  /** Keeps a context by its key; parts that are there already are not written again. */
  putContext(context: StoredContext): Promise<void>;
  /** @throws `context_lost` if it or a part is missing or damaged */
  context(key: string, how?: ReadingContext): Promise<StoredContext>;
  /**
   * The `index` of the context, without its bytes.
   *
   * @throws `context_lost` if it is missing or damaged
   */
  contextIndex(key: string): Promise<Json>;
  hasContext(key: string): Promise<boolean>;
  /** Removes large contexts and files of them that nothing needs, unless a load is under way. */
  sweepTexts(): Promise<void>;
  /** The texts that are too large for rows; null: the store keeps none, as one on a server. */
  readonly texts: Texts | null;

  /** An answer that a commit has put into the cache, or a text that was kept there, or null. */
  cached(key: string): Promise<Json>;
  /**
   * Keeps a text by the SHA-256 of it, for 30 days from `at` (ms since the epoch). Read it with
   * `cached(textKey(hash))`.
   */
  keepText(hash: string, text: string, at: number): Promise<void>;

  /**
   * Makes a session at the checkpoint (default: that of the newest exec's end). The journal up to
   * it is copied, images are shared. Its lease is not taken. @throws `checkpoint_not_found` for one
   * that is not of this session, `session_exists`
   */
  fork(session: string, checkpoint: string | null, fork: NewSession): Promise<SessionRow>;
  /**
   * Drops a session with its children and everything that only they need, also if its row is
   * damaged. Takes its lease.
   * @throws `session_busy`, also if requests of it are out, unless they are discarded
   */
  remove(session: string, options?: Discarding): Promise<Removed>;
  /** Drops what nothing reaches any more, then gives the space back. */
  gc(rule: GcRule): Promise<Collected>;
  /**
   * Checks a page of one part of what is kept, and repairs nothing. `verifyStore` goes through all
   * parts.
   * @param after what the page before answered as `next`; null: from the first
   */
  verify(part: VerifyPart, after: string | null): Promise<VerifiedPage>;

  readonly jobs: Jobs;
  readonly batches: BatchStore;
}

/** Texts and tables of large contexts, which lie in checked files. */
export interface Texts {
  /** Absolute path of their folder. */
  readonly folder: string;
  /** True for those of a store in memory, which go with the process. */
  readonly isOwn: boolean;
  /**
   * Makes the folder. No file in it is removed until the hold is disposed or the process ends. Who
   * makes a large context, or finds one by its key, holds them until a session names it.
   * @throws `store_failed` if others remove files all the time
   */
  hold(): Promise<Disposable>;
}

export interface SessionPage {
  /** The last one of the page before; null: from the first. */
  readonly after: Pick<SessionRow, "id" | "changed_at"> | null;
  readonly limit: number;
  /** Ids of sessions that are left out. */
  readonly without?: readonly string[];
}

/** The parts of a store that can be checked one after the other. */
export const VERIFY_PARTS = [
  "file",
  "sessions",
  "checkpoints",
  "contexts",
  "texts",
  "answers",
  "runs",
  "jobs",
  "batch requests",
  "provider batches",
  "run answers",
  "sums",
  "strays",
] as const;
export type VerifyPart = (typeof VERIFY_PARTS)[number];

export interface VerifiedPage {
  /** A line for each. Those that begin with `info: ` are not errors. */
  readonly findings: readonly string[];
  /** From where to continue; null: the part has ended. */
  readonly next: string | null;
}

export interface NewSession {
  /** A ULID: it becomes the name of the lock file. */
  readonly id: string;
  /**
   * Unique, chosen by a person; null for a session without a name. That of a child is `<id of its
   * parent>.<id of its call>`.
   */
  readonly name: string | null;
  /**
   * `batch`: a job of a run. `child`: it answers a call of another session, and goes with it. Its
   * parent's holder alone opens it.
   */
  readonly origin: "batch" | "child" | "command" | "library" | "mcp" | "pi";
  /**
   * The settings that a later process needs to continue as this one began (model, limits …); never
   * a key.
   */
  readonly settings: Json;
  /** ms since the epoch. */
  readonly at: number;
  /**
   * A try that takes the job whose session it is, as `jobs.begin` does. A store may leave that to
   * the caller. Both may come to the disk with what the store keeps next.
   */
  readonly begins?: (JobKey & Omit<Try, "fence">) | undefined;
}

/** A session whose lease this store has. */
export interface Lease extends SessionRow {
  /**
   * The answer of `jobs.begin` to the try that came with a new session. Without it the caller is to
   * ask.
   */
  readonly begun?: boolean;
  /**
   * Grows with each lease of the session, and goes with every write. 0 if the lease is a lock of
   * the file system.
   */
  readonly fence: number;
  /**
   * Aborts, with the reason `lease_lost`, once another process may have the session. A lock of the
   * file system is never lost.
   */
  readonly lost: AbortSignal;
}

export interface SessionRow {
  readonly id: string;
  readonly name: string | null;
  readonly origin: NewSession["origin"];
  readonly created_at: number;
  readonly changed_at: number;
  /** The newest checkpoint of an exec's end. */
  readonly head: string | null;
  /** Seq of the newest record; 0 if there is none. */
  readonly last_seq: number;
  /** Facts from the newest commit that has any. */
  readonly facts: Json;
  readonly settings: Json;
  /** The checkpoint that it was forked from. */
  readonly forked_from: string | null;
  /** The process that took the lease last; whether it still has it only the lock can tell. */
  readonly holder: { readonly pid: number; readonly host: string } | null;
  /** True if some process has the lease now. */
  readonly busy: boolean;
  /**
   * Bytes of its checkpoints, journal and contexts and of its children's, in the database. Contexts
   * count uncompressed, and what it shares with others in full.
   */
  readonly bytes: number;
  /** Bytes of files of large contexts, its own and its children's, without their search indexes. */
  readonly text_bytes: number;
}

/** A step: its parts are kept together, or not at all. */
export interface Step {
  /** Get the next seqs, dense, in this order. */
  readonly records?: readonly StoredRecord[];
  /** Written before the records. */
  readonly checkpoint?: NewCheckpoint;
  /** Checkpoints that are not needed any more: they go unless another one is based on them. */
  readonly drop?: readonly string[];
  /** Replaces the session's facts; kept as JSON. */
  readonly facts?: object;
  /** Replaces the session's settings. */
  readonly settings?: Json;
  /**
   * The usage of calls whose records are in this step: their holds go, and run and job count it.
   */
  readonly settle?: readonly Settled[];
  /**
   * Ids of calls whose records are in this step: their requests go. Those that are out are given
   * up.
   */
  readonly delivered?: readonly string[];
  /** The step is refused with `store_full` if it takes more than this leaves. */
  readonly space?: SpaceLeft;
  /** Answers for the cache. */
  readonly cache?: readonly { readonly key: string; readonly value: Json; readonly at: number }[];
  /** Answers to calls of jobs, for later tries and runs. */
  readonly answers?: readonly NewAnswer[];
  /**
   * It may come to the disk with what the store keeps next: a power cut may take it, and the end of
   * the process does not. A store may keep it at once.
   */
  readonly mayWait?: boolean;
}

/** The space of a session and its children. */
export interface SpaceLeft {
  /** The session as messages name it. */
  readonly label: string;
  /** Bytes that they take, and the most that they may. */
  readonly taken: number;
  readonly most: number;
}

/** A record as the store sees it: any JSON object with these. */
export interface StoredRecord {
  readonly record: string;
  readonly exec_id: string;
  /** ms since the epoch. */
  readonly at: number;
}

export interface JournalRow {
  /** From 1, dense. */
  readonly seq: number;
  readonly record: StoredRecord;
}

/** The part of a session that can be read. */
export interface Readable {
  readonly records: readonly JournalRow[];
  /** The oldest first. */
  readonly checkpoints: readonly CheckpointRow[];
  /** A line for what is missing or damaged, naming it; none if all is whole. */
  readonly damaged: readonly string[];
}

export interface NewCheckpoint {
  readonly id: string;
  /** The checkpoint that the session stood at before: the tree. */
  readonly parent: string | null;
  /**
   * The image that `pages` are changes of, a checkpoint or a baseline; null: they are all pages.
   */
  readonly base: string | null;
  /** The exec of the last record of its commit. By that a fork knows what it shares. */
  readonly exec_id: string;
  /** `end`: the exec has ended and this is the session's head. `step`: it waits for calls. */
  readonly kind: "step" | "end";
  readonly meta: ImageMeta;
  readonly pages: ImagePages;
  /**
   * The number of images between this and a whole one, and bytes of their pages, this one's
   * included.
   */
  readonly chain: { readonly length: number; readonly bytes: number };
  /**
   * The JSON that the session keeps beside the image: the exec's state, or memory, helpers, context
   * and ledger.
   */
  readonly extras: object;
  /** ms since the epoch. */
  readonly at: number;
}

export interface CheckpointRow extends Omit<NewCheckpoint, "pages" | "extras"> {
  readonly session: string;
  readonly extras: Json;
  /** Seq of the last record of its commit. */
  readonly seq: number;
  /** Pages of this image alone, and what they take on disk, bytes. */
  readonly pages: number;
  readonly stored_bytes: number;
}

/** A context without what can be derived from its text. */
export interface StoredContext {
  /** SHA-256, hex, of P's hash and its index, or of a conversation. */
  readonly key: string;
  /**
   * In order; P is their concatenation. Those of a large context lie in files of the store's folder
   * of texts. Its table, which lies there too, is the last one.
   */
  readonly parts: readonly StoredPart[];
  /**
   * Documents, routes, stats and sources, as JSON. Of a large context `documents` is the name of
   * the table.
   */
  readonly index: Json;
}

/** The way in which a context is read. */
export interface ReadingContext {
  /** Gives a large context too if a page of its files is known to be damaged. The others can be read. */
  readonly damaged?: boolean;
}

type StoredPart = PartInRows | PartInFile;

export interface PartInRows {
  /** SHA-256 of the bytes, hex. */
  readonly hash: string;
  readonly bytes: Uint8Array;
}

export interface PartInFile {
  /** SHA-256 of the bytes, hex, which is the file's name. */
  readonly hash: string;
  /** Absolute path of a checked file. */
  readonly file: string;
}

export interface GcRule {
  /** ms since the epoch. */
  readonly now: number;
  /**
   * Sessions without a name that are finished (`facts.status` is not `running`) go when they are
   * older than this, ms.
   */
  readonly anonymousMs: number;
  /**
   * Named sessions and, with `pi`, those of Pi go when they are older than this, ms; null: they
   * stay.
   */
  readonly namedMs: number | null;
  readonly pi: boolean;
  /** Only says what would go. */
  readonly dryRun: boolean;
}

/** Files of large contexts that went with a session. */
interface Removed {
  /** Bytes of texts, tables and search indexes. */
  readonly text_bytes: number;
  /** True if such files stayed for the next sweep, because a load is under way. */
  readonly texts_in_use: boolean;
}

export interface Collected {
  /** Names, or ids of those without a name. */
  readonly sessions: readonly string[];
  readonly checkpoints: number;
  readonly contexts: number;
  readonly cached: number;
  /** Files of large contexts and of their search indexes. */
  readonly texts: number;
  /** True if such files stayed because a load is under way. */
  readonly texts_in_use: boolean;
  /**
   * Bytes that were freed in the database file and in files of large contexts; of a dry run an estimate. On a server
   * usually 0.
   */
  readonly bytes: number;
}
