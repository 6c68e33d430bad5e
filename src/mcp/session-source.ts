import type { Session, SessionEvent } from "../session/index.ts";
import type { SessionRow, Store } from "../store/index.ts";

/** The command's sessions: the store, the user's choice, and a way to open one. */
export interface SessionSource {
  /** The user's name for the session; null: it is named by the folder. */
  readonly named: string | null;
  /** Folders that the user allows; none: those of the client, else the working folder. */
  readonly roots: readonly string[];
  readonly cwd: string;
  /** The user's home folder. */
  readonly home: string;
  /** @throws RlmError `store_failed` and the like */
  openStore(): Promise<Store>;
  /** Opens a session of the store, made if `row` is null. @throws RlmError `session_busy` and the like */
  open(store: Store, place: SessionPlace): Promise<Session>;
  /** The folder that a server recorded when it made the session, whoever that was; null: it was not a server, or recorded none. */
  madeFor(row: SessionRow): string | null;
  /** The mark of the client over HTTP that had the session last; null: none had, or nobody of this user has written it. */
  clientOf(row: SessionRow): string | null;
  /** The folder of a session that a server of this user has made; null for every other one. */
  folderOf(row: SessionRow): string | null;
}

/** The place in which a session is opened. */
export interface SessionPlace {
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
