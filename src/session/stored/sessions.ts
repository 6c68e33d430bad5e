import * as v from "valibot";
import { firstly, hasCode, type Json, RlmError, remedy } from "../../../runtime/index.ts";
import { indexFolder } from "../../platform/home.ts";
import { displayName } from "../../platform/ids.ts";
import { jsonOf } from "../../platform/json.ts";
import { nearest } from "../../platform/nearest.ts";
import { shellWord, typedName } from "../../platform/shell-word.ts";
import { type DamagedRow, everySession, readablePart, type SessionRow, type Store } from "../../store/index.ts";
import { askEnd, GIVEN_UP } from "../ask/ends.ts";
import { type Account, EMPTY_ACCOUNT, factsOf, follow, openAskIn } from "../journal/account.ts";
import { EXEC_KINDS, type JournalRecord, readJournal, type SessionFacts } from "../journal/records.ts";
import { checkSessionName, LAST_SESSION } from "../session-name.ts";
import { indexBytesOf } from "../store-quota.ts";
import { refuseChild } from "./children.ts";
import { remarksOf, remarksOfCopy, type SessionRemarks, withRemarks } from "./remarks.ts";

/**
 * Facts of a stored session in lists. Counts are of its whole life, cost in USD by price
 * lists, times ms since the epoch.
 */
export interface SessionSummary extends Omit<SessionFacts, "status">, SessionRemarks {
  readonly id: string;
  /** null for a session without one. */
  readonly name: string | null;
  readonly origin: SessionRow["origin"];
  /**
   * `idle`: no process has it open. `open`: a process has it open and runs nothing. `running`: a
   * process runs an exec. `unfinished`: an exec was interrupted, and can be resumed.
   */
  readonly status: "idle" | "open" | "running" | "unfinished";
  readonly created_at: number;
  readonly changed_at: number;
  /** In the store, with its contexts and children; contexts count uncompressed, shared ones in full. */
  readonly bytes: number;
  /** Bytes of files of large contexts, and of the search index of the newest. Absent: none. */
  readonly text_bytes?: number;
  /** The process that has it open, or null. */
  readonly holder: { readonly pid: number; readonly host: string } | null;
  readonly forked_from: string | null;
}

export interface ReadableSessions {
  /** The one changed last first. */
  readonly sessions: readonly SessionSummary[];
  readonly damaged: readonly DamagedRow[];
}

/** Lists sessions as far as their rows can be read. */
export async function listReadableSessions(store: Listing): Promise<ReadableSessions> {
  const { found, damaged } = await readableRows(store);
  return { sessions: found.map(summaryOf), damaged };
}

type Listing = Pick<Store, "list" | "damaged">;

/** Rows of the sessions as far as they can be read, the one changed last first. */
export const readableRows = (store: Listing) =>
  readablePart(
    (without) => Array.fromAsync(everySession(store, without)),
    () => store.damaged(),
  );

export function summaryOf(row: SessionRow): SessionSummary {
  const { id, name, origin, created_at, changed_at, bytes, text_bytes, busy, holder, forked_from } = row;
  const { status, ...facts } = factsIn(row);
  const large = text_bytes > 0 ? text_bytes + indexBytesIn(facts) : 0;
  const running = busy ? "running" : "unfinished";
  return {
    id,
    name,
    ...remarksOf(row),
    origin,
    status: status === "running" ? running : busy ? "open" : "idle",
    ...facts,
    created_at,
    changed_at,
    bytes: bytes + large,
    ...(large > 0 ? { text_bytes: large } : {}),
    holder: busy ? holder : null,
    forked_from,
  };
}

/** Bytes of the search index of the context that a session has. */
function indexBytesIn({ context }: Pick<SessionFacts, "context">): number {
  return context ? indexBytesOf(new Set([context.hash]), indexFolder(process.env)) : 0;
}

/**
 * The session with this name, id or end of an id, or `@last`.
 *
 * @param passedOver is told of sessions that cannot be read and that `@last` may have meant
 * @throws RlmError `session_not_found`, naming what was probably meant
 */
export async function sessionNamed(
  store: Pick<Store, "find"> & Listing,
  nameOrId: string,
  passedOver: (row: DamagedRow) => void = () => {},
): Promise<SessionRow> {
  const isLast = nameOrId === LAST_SESSION;
  const found = isLast ? null : await store.find(nameOrId);
  if (found) return found;
  const last = isLast ? await lastSession(store, passedOver) : null;
  if (last) return last;
  const { found: rows } = await readableRows(store);
  throw new RlmError("session_not_found", `session ${nameOrId} not found`, { suggestion: cure(nameOrId, rows) });
}

/** The session changed last that a person can mean without its name; null: there is none. */
async function lastSession(store: Listing, passedOver: (row: DamagedRow) => void): Promise<SessionRow | null> {
  const { found, damaged } = await readablePart(
    async (without) => {
      for await (const row of everySession(store, without)) if (canBeChosen(row)) return row;
      return null;
    },
    () => store.damaged(),
  );
  for (const row of damaged) passedOver(row);
  return found;
}

/**
 * True if `@last`, and a command without a name, may mean it. Those of Pi and those of jobs are
 * reached by Pi and by their run.
 */
export function canBeChosen({ origin }: Pick<SessionRow, "origin">): boolean {
  return origin !== "pi" && origin !== "batch";
}

const NAMED_AT_MOST = 5;

function cure(typed: string, rows: readonly SessionRow[]): string {
  if (rows.length === 0) return "The store holds no session; is it the right folder?";
  const meant = nearest(
    typed,
    rows.flatMap(({ name }) => name ?? []),
  );
  if (meant) return `Did you mean ${meant}?`;
  const [one, other] = typed === "" ? [] : rows.filter(({ id }) => id.endsWith(typed.toUpperCase()));
  if (one && other) return `Several ids end so: ${one.id}, ${other.id}`;
  if (one) return `Did you mean ${displayName(one)}?`;
  // A run has more sessions than can be named.
  const own = rows.filter(({ origin }) => origin !== "batch");
  const named = own.length > 0 ? own : rows;
  const labels = named.slice(0, NAMED_AT_MOST).map(displayName);
  return `Sessions are ${labels.join(", ")}${named.length > NAMED_AT_MOST ? ", …" : ""}`;
}

/**
 * @throws RlmError `invalid_argument` for a name that a new session cannot have: that
 * of a child is taken by its call
 */
export function checkNewName(name: string): void {
  checkSessionName(name);
  if (!isChildName(name)) return;
  throw new RlmError("invalid_argument", `${JSON.stringify(name)} is the name of a child, which only its call makes`, {
    suggestion: "Choose a name that does not begin with the id of a session and a dot.",
  });
}

/** True if a name is that of a child: it begins with an id, which is a ULID, and a dot. */
function isChildName(name: string): boolean {
  return /^[0-9A-HJKMNP-TV-Z]{26}\./.test(name);
}

/** The checkpoint at which a fork begins, and what it is called. */
export interface Forking {
  /** The new session's id, a ULID. */
  readonly id: string;
  readonly name: string | null;
  readonly origin: SessionRow["origin"];
  /**
   * Id of a checkpoint, or a beginning or end of one that fits it alone;
   * null: the newest of an exec's end.
   */
  readonly checkpoint: string | null;
  /** ms since the epoch. */
  readonly at: number;
  /** The settings to be kept with the new session, made of its parent's. */
  readonly settings: (parent: SessionRow) => Json;
  /**
   * Ends the ask that the checkpoint lies in, as cancelled; default: it is open in the new
   * session.
   */
  readonly endsAsk?: boolean;
}

/**
 * Makes a session at a checkpoint of another one, which stays as it is.
 *
 * @throws RlmError `session_not_found`, `session_exists`, `checkpoint_not_found`, `checkpoint_lost`
 */
export async function forkSession(store: Store, nameOrId: string, forking: Forking): Promise<SessionSummary> {
  if (forking.name !== null) checkNewName(forking.name);
  const parent = await sessionNamed(store, nameOrId);
  const { checkpoint, settings, endsAsk, ...fork } = forking;
  const from = checkpoint === null ? null : await checkpointNamed(store, parent, checkpoint);
  const forked = await store.fork(parent.id, from, {
    ...fork,
    settings: withRemarks(settings(parent), remarksOfCopy(parent, forking.name)),
  });
  const copied = (await readJournal(store, forked.id)).reduce(follow, EMPTY_ACCOUNT);
  const ended = await endOfAsk(store, parent, { copied, seq: forked.last_seq, forking });
  // Only at the parent's head is its context certain to be the fork's: another one may have the
  // same text.
  const context = forked.head === parent.head ? factsIn(parent).context : await contextAt(store, copied);
  const facts = jsonOf(factsOf(ended.reduce(follow, copied), context));
  await store.lease(forked.id);
  await store.commit(forked.id, { records: ended.map((record) => ({ ...record })), facts });
  await store.release(forked.id);
  return summaryOf({ ...forked, facts });
}

/**
 * Returns records that end the ask in which the newest checkpoint lies: at the parent's head
 * those that the parent has behind it, if its ask has ended. Its last turn leaves no checkpoint.
 */
async function endOfAsk(
  store: Pick<Store, "journal">,
  parent: SessionRow,
  { copied, seq, forking }: { readonly copied: Account; readonly seq: number; readonly forking: Forking },
): Promise<JournalRecord[]> {
  const open = openAskIn(copied);
  if (!open) return [];
  const { exec_id } = open.start;
  const behind = forking.checkpoint === null ? await readJournal(store, parent.id, seq + 1) : [];
  const end = behind.findIndex((record) => record.record === "rlm_complete" && record.exec_id === exec_id);
  if (end >= 0) return behind.slice(0, end + 1);
  return forking.endsAsk ? [askEnd(open, copied, GIVEN_UP, forking.at)] : [];
}

/** Facts of the context that an account names. */
async function contextAt(
  store: Store,
  { context_hash: hash, context_key: key }: Account,
): Promise<SessionFacts["context"]> {
  if (hash === null || key === null) return null;
  const { stats } = v.parse(IndexSchema, await store.contextIndex(key));
  return { hash, sources: stats.sources, chars: stats.length_chars };
}

async function checkpointNamed(store: Store, session: SessionRow, typed: string): Promise<string> {
  const label = displayName(session);
  const ids = (await store.checkpoints(session.id)).map((row) => row.id);
  const wanted = typed.toUpperCase();
  const fitting = ids.filter((known) => known.toUpperCase().startsWith(wanted) || known.toUpperCase().endsWith(wanted));
  const [found] = ids.includes(typed) ? [typed] : fitting;
  if (found !== undefined && (found === typed || fitting.length === 1)) return found;
  const near = found === undefined ? await nearestTo(store, session, typed, ids) : null;
  const problem = found === undefined ? "has no checkpoint" : "has several checkpoints";
  const thinned = near === null ? "" : ` any more; the nearest that stays is ${near}`;
  throw new RlmError("checkpoint_not_found", `${label} ${problem} ${typed}${thinned}`, {
    suggestion: `${firstly("listCheckpoints", shellWord(typedName(session)))}; ${remedy("keepSteps")}.`,
  });
}

/**
 * The end that stays nearest to an old one that was dropped; null: no end of the session was
 * meant.
 */
async function nearestTo(store: Store, { id }: SessionRow, typed: string, kept: string[]): Promise<string | null> {
  const ends = (await readJournal(store, id)).flatMap(
    (one) => (one.record === "rlm_complete" && one.checkpoint_id) || [],
  );
  const at = ends.findIndex((end) => end.startsWith(typed.toUpperCase()) || end.endsWith(typed.toUpperCase()));
  const far = (end: string) => Math.abs(ends.indexOf(end) - at);
  const [nearest = null] = ends.filter((end) => kept.includes(end)).sort((a, b) => far(a) - far(b));
  return at < 0 ? null : nearest;
}

/** A session that is to be dropped. `bytes` is null if its row is damaged. */
export type Removing = Pick<SessionRow, "id" | "name"> & { readonly bytes: number | null };

/**
 * The session that is meant. One whose row is damaged is meant by its whole id alone.
 * @throws RlmError `session_not_found`, `store_corrupt`; `invalid_argument` for a
 * child, which goes with its parent
 */
export async function sessionToRemove(store: Store, nameOrId: string): Promise<Removing> {
  try {
    // Instead of the one that was meant, no other is dropped.
    const row = await sessionNamed(store, nameOrId, ({ problem }) => {
      throw new RlmError("store_corrupt", problem, { suggestion: `To see all that is damaged ${remedy("verify")}.` });
    });
    await refuseChild(store, row);
    return { ...row, bytes: row.bytes + row.text_bytes };
  } catch (error) {
    if (!hasCode(error, "store_corrupt")) throw error;
    const damaged = await store.damaged();
    if (damaged.some(({ id }) => id === nameOrId)) return { id: nameOrId, name: null, bytes: null };
    const row = damaged.find(({ problem }) => problem === error.message);
    throw row
      ? new RlmError(error.code, error.message, {
          suggestion: `${firstly("removeSession", shellWord(row.id))} that is damaged.`,
        })
      : error;
  }
}

/**
 * Drops a session with its children and everything that only they need.
 * @throws RlmError as above, and `session_busy`
 */
export async function removeSession(store: Store, nameOrId: string): Promise<void> {
  await store.remove((await sessionToRemove(store, nameOrId)).id);
}

const count = v.number();

const IndexSchema = v.object({ stats: v.object({ sources: v.array(v.string()), length_chars: count }) });

const FactsSchema = v.object({
  status: v.picklist(["idle", "running"]),
  execs: count,
  sub_calls: count,
  tokens: count,
  cost_usd: count,
  reused: v.exactOptional(v.object({ answers: count, tokens: count, cost_usd: count })),
  context: v.nullable(v.object({ hash: v.string(), sources: v.array(v.string()), chars: count })),
  waits_for: v.exactOptional(
    v.object({
      code: v.string(),
      message: v.string(),
      suggestion: v.string(),
      retry_at: v.exactOptional(count),
    }),
  ),
  last: v.nullable(v.object({ exec_id: v.string(), kind: v.picklist(EXEC_KINDS), input: v.string() })),
});

/** A session that has done nothing yet has said nothing of itself. */
export function factsIn({ facts }: SessionRow): SessionFacts {
  const read = v.safeParse(FactsSchema, facts);
  return read.success ? read.output : factsOf(EMPTY_ACCOUNT, null);
}
