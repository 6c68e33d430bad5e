import { hash } from "node:crypto";
import type { Session, SessionEvent } from "../session/index.ts";
import type { SessionRow, Store } from "../store/index.ts";
import type { WorkflowHost } from "../tools/index.ts";

/** The command's sessions: the store, the user's choice, and a way to open one. */
export interface SessionSource {
  /** The user's name for the session; null: it is named by the folder. */
  readonly named: string | null;
  /** Folders that the user allows; none: those of the client, else the working folder. */
  readonly roots: readonly string[];
  readonly cwd: string;
  /** The user's home folder. */
  readonly home: string;
  /** Gives the user's settings of workflows. Absent: the server runs none. @throws RlmError `invalid_config` */
  workflows?(): Promise<WorkflowHost>;
  /** @throws RlmError `store_failed` and the like */
  openStore(): Promise<Store>;
  /**
   * Opens a session of the store, made if `row` is null. @throws RlmError `session_busy` and the
   * like
   */
  open(store: Store, place: SessionPlace): Promise<Session>;
  /**
   * The folder that a server recorded when it made the session, whoever that was; null: it was not
   * a server, or recorded none.
   */
  madeFor(row: SessionRow): string | null;
  /**
   * The mark of the client over HTTP that had the session last; null: none had, or nobody of this
   * user has written it.
   */
  clientOf(row: SessionRow): string | null;
  /** The folder of a session that a server of this user has made; null for every other one. */
  folderOf(row: SessionRow): string | null;
}

/** The place in which a session is opened. */
interface SessionPlace {
  readonly row: SessionRow | null;
  readonly name: string;
  /** The folder that the session belongs to. */
  readonly folder: string;
  /** Folders that may be read. */
  readonly roots: readonly string[];
  /** The mark of the client that opens it, which is kept with it; null: it has none. */
  readonly client: string | null;
  onProgress(progress: SessionEvent): void;
}

/** Servers of one folder that are open at once have this many names. */
const MOST_AT_ONCE = 9;

/** Names that begin so belong to the folders that they are made from. */
export const SERVER_PREFIX = "mcp-";

/**
 * The name of a folder's session: the same after any restart, whichever client it is. @param folder
 * without symlinks
 */
export function folderSession(folder: string): string {
  return `${SERVER_PREFIX}${hash("sha256", folder).slice(0, 12)}`;
}

/**
 * The name for the address in a client's entry: clients of one folder have sessions of their own.
 */
export function entrySession(client: string, folder: string): string {
  return `${client}-${folderSession(folder).slice(SERVER_PREFIX.length)}`;
}

/** The names that a server tries in turn: `NAME`, `NAME~2` to `NAME~9`. */
export function namesOf(base: string): readonly string[] {
  return [base, ...Array.from({ length: MOST_AT_ONCE - 1 }, (_, index) => `${base}~${index + 2}`)];
}
