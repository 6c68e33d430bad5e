import * as v from "valibot";
import type { Json } from "../../../runtime/index.ts";
import { type ToldSkips, toldSkips } from "../../context/index.ts";
import type { CheckpointRow, SessionRow, Store } from "../../store/index.ts";
import type { Describing } from "../api.ts";
import { coverageIn, toldCoverage } from "../journal/coverage.ts";
import { contextKeyIn, readRecord, readStepExtras } from "../journal/records.ts";
import { type ProviderWait, waitsFor } from "../provider-wait.ts";
import type { CallDescription } from "./call-description.ts";
import { childName } from "./children.ts";
import { type CoverageTotals, coveredContext, sumCoverage } from "./coverage.ts";
import { describeExecs, type ExecDescription } from "./exec-description.ts";
import { type SessionSummary, sessionNamed, summaryOf } from "./sessions.ts";

/** The store's description of a session: its execs with their calls, and its checkpoints. */
export interface SessionDescription extends Omit<SessionSummary, "execs"> {
  /** The checkpoint at which it stands; null before the first. */
  readonly head: string | null;
  /** The settings of its beginning (model, limits …), never a key; null if nothing is recorded. */
  readonly settings: Json;
  /** In journal order. */
  readonly execs: readonly ExecDescription[];
  /**
   * The parts of the context that its execs have looked at since the last load. null without a context, and if it is lost;
   * absent of a session that answers a call of the one described.
   */
  readonly coverage?: SessionCoverage | null;
  /** Files of its sources that are not in the context, the first 1,000 of them; null and absent as `coverage` is. */
  readonly skipped?: ToldSkips | null;
  /** Providers' batches that its unfinished exec waits for; only if there are any. */
  readonly waits?: readonly ProviderWait[];
  /** The oldest first; `parent` makes a tree of them. */
  readonly checkpoints: readonly CheckpointDescription[];
  /** The missing or damaged parts, named line by line; only if the session is described `partly`. */
  readonly damaged?: readonly string[];
}

/** The coverage of a session. */
export interface SessionCoverage extends CoverageTotals {
  /** Ids of documents, the largest first, at most 1,000. */
  readonly never_opened: readonly string[];
}

const MOST_IDS = 1000;

export interface CheckpointDescription {
  readonly id: string;
  readonly parent: string | null;
  readonly exec_id: string;
  readonly kind: "step" | "end";
  /** ms since the epoch. */
  readonly at: number;
  /** Pages of 4 KiB that changed, and what they take on disk, bytes. */
  readonly pages: number;
  readonly bytes: number;
  /** The session stands here. */
  readonly head: boolean;
}

/** Sessions that may still be described, and how. */
interface Left {
  children: number;
  readonly partly: boolean;
}

/** @throws RlmError `session_not_found`, `store_corrupt`, `checkpoint_lost` */
export async function describeSession(
  store: Store,
  nameOrId: string,
  describing: Describing = {},
): Promise<SessionDescription> {
  return (await describeWhole(store, nameOrId, describing)).session;
}

/** The session with the key of its context, and its coverage by ranges and documents. @throws RlmError as above */
export async function describeWhole(store: Store, nameOrId: string, { children = 0, partly = false }: Describing = {}) {
  const left = { children, partly };
  const row = await sessionNamed(store, nameOrId);
  const waits = await waitsFor(store, { root: row.id });
  const { session, key } = await describeRow(store, row, partly);
  const context = await coveredContext(store, key);
  const covered = context && sumCoverage(context, looksIn(session.execs));
  const never_opened = covered?.unread.slice(0, MOST_IDS).map(({ id }) => id) ?? [];
  const coverage = covered && { ...covered.totals, never_opened };
  const skipped = context && toldSkips(context.skipped, MOST_IDS);
  const described = { ...(await withChildren(store, session, left)), coverage, skipped };
  return { session: waits.length > 0 ? { ...described, waits } : described, key, covered };
}

export type WholeDescription = Awaited<ReturnType<typeof describeWhole>>;

/** Damage of the session, and of those that answer its calls: a line for each part. */
export function damagedIn({ damaged = [], execs }: SessionDescription): string[] {
  const below = execs.flatMap(({ calls }) => calls.map(({ child }) => child?.description ?? null));
  return [...damaged, ...below.flatMap((child) => (child ? damagedIn(child) : []))];
}

/** The cells and queries since the last load, without those of which nothing is known yet. */
function looksIn(execs: readonly ExecDescription[]): readonly ExecDescription[] {
  const load = execs.findLastIndex(({ kind, status }) => kind === "load" && status === "ok");
  const looks = execs.slice(load + 1).filter(({ kind }) => kind === "cell" || kind === "query");
  return looks.filter(({ status, coverage }) => status !== "unfinished" || coverage !== null);
}

/** The session without its children and its coverage, and the key of its context in the store. */
async function describeRow(
  store: Store,
  row: SessionRow,
  partly: boolean,
): Promise<{ readonly session: SessionDescription; readonly key: string | null }> {
  const { records, checkpoints, damaged } = partly ? await store.readable(row.id) : await wholeOf(store, row.id);
  const end = records.findLast(({ record }) => record.record === "rlm_complete");
  const complete = end && readRecord(end.record);
  const session = {
    ...summaryOf(row),
    ...(damaged.length > 0 ? { damaged } : {}),
    head: row.head,
    settings: recordedSettings(row),
    execs: describeExecs(records.map(({ record }) => record)).map((exec) => withCheckpoints(exec, checkpoints)),
    checkpoints: checkpoints.map(({ id, parent, exec_id, kind, at, pages, stored_bytes }) => ({
      id,
      parent,
      exec_id,
      kind,
      at,
      pages,
      bytes: stored_bytes,
      head: id === row.head,
    })),
  };
  return { session, key: complete?.record === "rlm_complete" ? contextKeyIn(complete) : null };
}

async function wholeOf(store: Store, id: string): Promise<Awaited<ReturnType<Store["readable"]>>> {
  const [records, checkpoints] = await Promise.all([store.journal(id), store.checkpoints(id)]);
  return { records, checkpoints, damaged: [] };
}

/** Adds the output and the coverage of an unfinished exec from its newest checkpoint. */
function withCheckpoints(exec: ExecDescription, checkpoints: readonly CheckpointRow[]): ExecDescription {
  const isThere = checkpoints.some(({ id }) => id === exec.checkpoint_id);
  const told = isThere ? exec : { ...exec, checkpoint_id: null };
  const step = checkpoints.findLast(({ kind, exec_id }) => kind === "step" && exec_id === exec.exec_id);
  if (exec.status !== "unfinished" || !step) return told;
  const { output, warnings, library } = readStepExtras(step.extras).state;
  const coverage = toldCoverage(coverageIn(library));
  return { ...told, stdout: output.stdout, stderr: output.stderr, warnings, coverage };
}

/** Keys of a row beside the settings of its session's beginning. */
const BESIDE = ["signature", "remarks", "unfinished"];

/** Settings without what people say of the session, and without the user's signature. */
function recordedSettings({ settings }: SessionRow): Json {
  if (typeof settings !== "object" || settings === null || Array.isArray(settings)) return null;
  return Object.fromEntries(Object.entries(settings).filter(([name]) => !BESIDE.includes(name)));
}

/** The session with what the store tells of those that answer its calls, while some may be described. */
async function withChildren(store: Store, session: SessionDescription, left: Left): Promise<SessionDescription> {
  const execs = await Array.fromAsync(session.execs.toReversed(), async (exec) => {
    const calls = await Array.fromAsync(exec.calls, (call) => withChild(store, session.id, call, left));
    return calls.some((call, at) => call !== exec.calls[at]) ? { ...exec, calls } : exec;
  });
  return { ...session, execs: execs.toReversed() };
}

async function withChild(store: Store, parent: string, call: CallDescription, left: Left): Promise<CallDescription> {
  const name = call.child?.session ?? (mayHaveChild(call) ? childName(parent, call.call_id) : null);
  if (name === null || left.children < 1) return call;
  const row = await store.find(name);
  if (row?.origin !== "child") return call;
  left.children--;
  const { session } = await describeRow(store, row, left.partly);
  const description = await withChildren(store, session, left);
  const { sub_calls = null, turns = null, depth_reached = null } = call.child ?? {};
  return { ...call, child: { session: row.id, sub_calls, turns, depth_reached, description } };
}

/** A call with a context that has no answer yet: no record tells of its child. */
function mayHaveChild({ status, name, args: [, options] }: CallDescription): boolean {
  return status === "pending" && (name === "rlm_query" || v.is(WithContext, options));
}

const WithContext = v.object({ context: v.any() });
