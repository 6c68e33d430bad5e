import { parse } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { type Clock, RlmError } from "../../runtime/index.ts";
import { canonical } from "../context/index.ts";
import { nullIf } from "../platform/errors.ts";
import { lazy } from "../platform/lazy.ts";
import { shellWord } from "../platform/shell-word.ts";
import { readableRows, type Session, type SessionEvent } from "../session/index.ts";
import type { DamagedRow, SessionRow, Store } from "../store/index.ts";
import { folderSession, namesOf, SERVER_PREFIX, type SessionSource } from "./session-source.ts";

/**
 * Which session the calls of a client are about. It is opened, and its lease taken, by the first
 * call that needs it.
 */
export interface Connection {
  /**
   * The session for a call that works in it: opened with the roots that hold now. @throws RlmError
   */
  open(): Promise<Session>;
  /**
   * The session as it is, for a call that only looks; opened if there is none. Calls at once open
   * it once. @throws RlmError
   */
  look(): Promise<Session>;
  current(): Session | null;
  /**
   * Goes over to another session of this folder, made if it is missing. @throws RlmError
   * `policy_violation`
   */
  goTo(name: string): Promise<void>;
  /**
   * Sessions of this folder, the one changed last first, and rows of the store that tell no folder.
   * @throws RlmError
   */
  ofFolder(): Promise<{ rows: SessionRow[]; damaged: readonly DamagedRow[] }>;
  store(): Promise<Store>;
  readonly roots: {
    now: () => Promise<readonly string[]>;
    first: () => Promise<string>;
    owner(): Promise<string>;
    changed(): void;
  };
  /** Warnings about the session, which every answer has. */
  warnings(): readonly string[];
  [Symbol.asyncDispose](): Promise<void>;
}

/** The session that a client wants, and what is known of others. */
export interface AskedSession {
  /** That of its address; null or absent: the user's choice, else that of the folder. */
  readonly name?: string | null;
  /** Gives the mark that a session of this client bears, by which a later process finds it. */
  mark?(): string;
  /** The warning of every answer about others who use the session; null: there are none. */
  shared?(session: string | null): string | null;
}

export interface ConnectionParts extends AskedSession {
  readonly source: SessionSource;
  readonly clock: Clock;
  onProgress(progress: SessionEvent): void;
  /** The client's folders; null if it has none to tell. Never rejects. */
  askRoots(): Promise<readonly string[] | null>;
}

interface Opened extends FreeSession {
  readonly roots: readonly string[];
}

export function openConnection(parts: ConnectionParts): Connection {
  const { source, clock, onProgress, askRoots } = parts;
  const roots = openServerRoots(source, askRoots);
  const { opened: store, begun } = lazy(() => source.openStore());
  let opened: Opened | null = null;
  let opening: Promise<Opened> | null = null;

  const ofFolder = async () => sessionsOf(source, await roots.owner(), await store());

  async function openNamed(wanted: string): Promise<Opened> {
    const readable = await roots.now();
    const folder = await roots.owner();
    const kept = await store();
    const open = async (name: string, row: SessionRow | null) => {
      const madeFor = row && wanted !== source.named ? source.madeFor(row) : null;
      // A client of another folder may have taken the name.
      if (madeFor !== null && madeFor !== folder) throw madeForAnother(name, folder);
      return source.open(kept, { row, name, folder, roots: readable, onProgress, client: parts.mark?.() ?? null });
    };
    return { ...(await openFree(kept, clock, wanted, open)), roots: readable };
  }

  /** @throws RlmError `policy_violation` for a session of another folder */
  async function openOfFolder(name: string): Promise<Opened> {
    checkOfFolder(source, name, await roots.owner(), await (await store()).find(name));
    return openNamed(name);
  }

  /**
   * The session as it is, for a call that only looks; opened if there is none. Calls at once open
   * it once. @throws RlmError
   */
  async function look(): Promise<Session> {
    if (opened) return opened.session;
    opening ??= roots.owner().then(async (folder) => openOfFolder(await firstName(parts, folder, await store())));
    try {
      opened = await opening;
    } finally {
      opening = null;
    }
    return opened.session;
  }

  async function close(): Promise<void> {
    const closing = opened?.session;
    opened = null;
    await closing?.close();
  }

  return {
    async open() {
      const before = opened;
      if (!before || isDeepStrictEqual(before.roots, await roots.now())) return look();
      const { name } = before.session;
      // A call that looks meanwhile waits for it.
      opening = close()
        .then(() => openNamed(name ?? ""))
        .then((again) => ({ ...again, warning: again.warning ?? before.warning }));
      return look();
    },
    look,
    current: () => opened?.session ?? null,
    async goTo(name) {
      const row = await (await store()).find(name);
      if (row && row.id === opened?.session.id) return;
      const next = await openOfFolder(name);
      opening = close().then(() => next);
      await look();
    },
    ofFolder,
    store,
    roots,
    warnings: () =>
      [opened?.warning, parts.shared?.(opened?.session.name ?? null)].filter((warning) => warning != null),
    async [Symbol.asyncDispose](): Promise<void> {
      await opening?.catch(() => {});
      await close();
      await (await begun())?.[Symbol.asyncDispose]();
    },
  };
}

/**
 * The session that the client had in an earlier process, else the one of its address, of the user's
 * choice or of the folder.
 */
async function firstName({ source, name, mark }: ConnectionParts, folder: string, store: Store): Promise<string> {
  const own = mark?.();
  const before =
    own && (await sessionsOf(source, folder, store)).rows.find((row) => source.clientOf(row) === own)?.name;
  return before || (name ?? source.named ?? folderSession(folder));
}

async function sessionsOf(source: SessionSource, folder: string, store: Store) {
  const { found, damaged } = await readableRows(store);
  return { rows: found.filter((row) => source.folderOf(row) === folder), damaged };
}

/** @throws RlmError `policy_violation` for a session of another folder, and for the name of one */
function checkOfFolder(source: SessionSource, name: string, folder: string, row: SessionRow | null): void {
  const isOwn = name === source.named || name === folderSession(folder);
  const isReserved = name.startsWith(SERVER_PREFIX) && !namesOf(folderSession(folder)).includes(name);
  if (!isOwn && (row ? source.folderOf(row) !== folder : isReserved)) throw notOfFolder(name, folder);
}

/** The folder that it was made for is not named: a client's model would read it. */
function madeForAnother(name: string, folder: string): RlmError {
  return new RlmError("policy_violation", `the session ${name} was made for another folder than ${folder}`, {
    suggestion: `Ask the user to look at it (belay show ${shellWord(name)}) and remove it (belay rm ${shellWord(name)}); or go over to another session with rlm_wait and session: NAME.`,
  });
}

function notOfFolder(name: string, folder: string): RlmError {
  return new RlmError("policy_violation", `${name} is not a session that a server made for ${folder}`, {
    suggestion: "Choose one that rlm_status lists, or a new name. The user can open any session with --session NAME.",
  });
}

/**
 * Folders that may be read, and the one that the session belongs to.
 *
 * @param ask gives the client's folders; null if it has none to tell. It never rejects.
 */
function openServerRoots(source: SessionSource, ask: () => Promise<readonly string[] | null>) {
  let asked: Promise<readonly string[] | null> | null = null;
  let owned: Promise<string> | null = null;

  /** Folders that may be read now: the user's, else the client's, else the working folder. */
  async function now(): Promise<readonly string[]> {
    if (source.roots.length > 0) return source.roots;
    asked ??= ask();
    const given = await asked;
    return given && given.length > 0 ? given : workingRoots(source);
  }
  /** The first of them; else the working folder. */
  const first = async () => (await now())[0] ?? source.cwd;
  return {
    now,
    first,
    /**
     * The folder by which sessions are found: the first root of the first call, whatever becomes of
     * the roots.
     */
    owner(): Promise<string> {
      owned ??= first().then((folder) => canonical(folder));
      return owned;
    },
    /** The client's folders have changed: it is asked again. */
    changed(): void {
      asked = null;
    },
  };
}

/**
 * Clients start servers in `/` or in the home folder if no project is open: these are not meant to
 * be read.
 */
function workingRoots({ cwd, home }: SessionSource): readonly string[] {
  const folder = canonical(cwd);
  return folder === parse(folder).root || folder === canonical(home) ? [] : [cwd];
}

/**
 * A session that no other process has, and the warning of every answer if it is not the wanted one,
 * else null.
 */
interface FreeSession {
  readonly session: Session;
  readonly warning: string | null;
}

/**
 * The session of this name, or the first of `NAME~2` to `NAME~9` that no other process has open.
 * The wanted one is waited for a little: a server that has just been started may find its
 * predecessor leaving.
 *
 * @param open opens it, given its row if there is one; may throw `session_busy` and
 * `session_exists`
 * @throws RlmError `session_busy` if all are open elsewhere
 */
export async function openFree(
  store: Pick<Store, "find">,
  clock: Clock,
  wanted: string,
  open: (name: string, row: SessionRow | null) => Promise<Session>,
): Promise<FreeSession> {
  const until = clock.monotonic() + PREDECESSOR_MS;
  let holder: SessionRow | null = null;
  for (const name of namesOf(wanted)) {
    for (;;) {
      const row = await store.find(name);
      const session = row?.busy ? null : await unlessTaken(open(name, row));
      const warning = holder && `session_shared: ${wanted} is open in ${processOf(holder)}; this is ${name}`;
      if (session) return { session, warning };
      if (name === wanted) holder = row;
      if (name !== wanted || clock.monotonic() >= until) break;
      await new Promise<void>((resolve) => void clock.after(POLL_MS, resolve));
      holder = null;
    }
  }
  throw new RlmError("session_busy", `${wanted} and all of its other names are open in other processes`, {
    suggestion: "Close another client of this folder, or go over to another session with rlm_wait and session: NAME.",
  });
}

const PREDECESSOR_MS = 3_000;
const POLL_MS = 100;

/** Another process may have been faster. */
const unlessTaken = (opening: Promise<Session>) => nullIf("session_busy", nullIf("session_exists", opening));

function processOf({ holder }: SessionRow): string {
  return holder ? `process ${holder.pid}` : "another process";
}
