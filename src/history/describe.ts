import * as v from "valibot";
import { hasCode, type Json } from "../../runtime/index.ts";
import { toldSkips } from "../context/index.ts";
import { waitsFor } from "../provider-batches/index.ts";
import { childName, type Describing, sessionNamed, startedAgents, storedContext, summaryOf } from "../session/index.ts";
import { coverageIn, toldCoverage } from "../session/journal/coverage.ts";
import { coveredContext, NEVER, sumCoverage } from "../session/journal/coverage-sums.ts";
import { contextKeyIn, readRecord, readStepExtras } from "../session/journal/records.ts";
import type { CheckpointRow, Readable, SessionRow, Store } from "../store/index.ts";
import type { CallDescription, ExecDescription, SessionDescription, WholeDescription } from "./api.ts";
import { describeExecs } from "./execs.ts";

const MOST_IDS = 1000;

/** Sessions that may still be described, and how. */
interface Left {
  children: number;
  readonly partly: boolean;
}

/** @throws RlmError `session_not_found`, `store_corrupt`, `checkpoint_lost` */
export async function describeSession(
  store: Store,
  nameOrId: string,
  options: Describing = {},
): Promise<SessionDescription> {
  return (await describeWhole(store, nameOrId, options)).session;
}

/**
 * The session with the key of its context, and its coverage by ranges and documents.
 * @throws RlmError as above
 */
export async function describeWhole(
  store: Store,
  nameOrId: string,
  { children = 0, partly = false, readsContext = false }: DescribingWhole = {},
): Promise<WholeDescription> {
  const left = { children, partly };
  const row = await sessionNamed(store, nameOrId);
  const waits = await waitsFor(store, { root: row.id });
  const { session, key } = await describeRow(store, row, partly);
  const context = await coveredContext(store, key);
  const covered = context && sumCoverage(context, looksIn(session.execs));
  const never_opened = covered?.largest(NEVER, MOST_IDS).map(({ id }) => id) ?? [];
  const coverage = covered && { ...covered.totals, never_opened };
  const skipped = context && toldSkips(context.skipped, MOST_IDS);
  const lost = readsContext && key !== null ? await lossOf(store, key) : [];
  const described = { ...withDamage(await withChildren(store, session, left), lost), coverage, skipped };
  return { session: waits.length > 0 ? { ...described, waits } : described, key, covered };
}

/** A way to describe a session with its context. */
interface DescribingWhole extends Describing {
  /** Reads the text of its context, too, to tell whether it is whole. */
  readonly readsContext?: boolean;
}

/** Keys of contexts that were found whole: they do not change, and a page that follows a session looks often. */
const whole = new WeakMap<Store, Set<string>>();

/** A line about a context that the store has lost; none if it is whole. A large one is checked as it is read. */
async function lossOf(store: Store, key: string): Promise<readonly string[]> {
  const known = whole.get(store) ?? new Set();
  whole.set(store, known);
  if (known.has(key)) return [];
  try {
    using _text = (await storedContext(store, key)).text;
    known.add(key);
    return [];
  } catch (error) {
    if (hasCode(error, "context_lost")) return [error.message];
    throw error;
  }
}

function withDamage(session: SessionDescription, lines: readonly string[]): SessionDescription {
  return lines.length === 0 ? session : { ...session, damaged: [...(session.damaged ?? []), ...lines] };
}

/** Damage of the session, and of those that answer its calls: a line for each part. */
export function damagedIn(session: SessionDescription): string[] {
  return walk(session)
    .flatMap((step) => (step.is === "session" ? (step.session.damaged ?? []) : []))
    .toArray();
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
    execs: withStarted(
      describeExecs(records.map(({ record }) => record)).map((exec) => withCheckpoints(exec, checkpoints)),
      () => startedAgents(store, row.id),
    ),
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

async function wholeOf(store: Store, id: string): Promise<Readable> {
  const [records, checkpoints] = await Promise.all([store.journal(id), store.checkpoints(id)]);
  return { records, checkpoints, damaged: [] };
}

/** Adds the output and the coverage of an unfinished exec from its newest checkpoint. */
function withCheckpoints(exec: ExecDescription, checkpoints: readonly CheckpointRow[]): ExecDescription {
  const isThere = checkpoints.some(({ id }) => id === exec.checkpoint_id);
  const described = isThere ? exec : { ...exec, checkpoint_id: null };
  const step = checkpoints.findLast(({ kind, exec_id }) => kind === "step" && exec_id === exec.exec_id);
  if (exec.status !== "unfinished" || !step) return described;
  const { output, warnings, library } = readStepExtras(step.extras).state;
  const coverage = toldCoverage(coverageIn(library));
  return { ...described, stdout: output.stdout, stderr: output.stderr, warnings, coverage };
}

/** Says of pending calls whether their agents were started. */
function withStarted(execs: readonly ExecDescription[], started: () => ReadonlySet<string>): ExecDescription[] {
  const isOpen = ({ status, agent }: CallDescription) => status === "pending" && agent !== null;
  return execs.map((exec) => {
    if (exec.status !== "unfinished" || !exec.calls.some(isOpen)) return exec;
    const ids = started();
    return { ...exec, calls: exec.calls.map((call) => ({ ...call, started: isOpen(call) && ids.has(call.call_id) })) };
  });
}

/** Keys of a row beside the settings of its session's beginning. */
const BESIDE = ["signature", "remarks", "unfinished"];

/** Settings without what people say of the session, and without the user's signature. */
function recordedSettings({ settings }: SessionRow): Json {
  if (typeof settings !== "object" || settings === null || Array.isArray(settings)) return null;
  return Object.fromEntries(Object.entries(settings).filter(([name]) => !BESIDE.includes(name)));
}

/**
 * The session with what the store tells of those that answer its calls, while some may be
 * described.
 */
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

/**
 * A step of a walk through a session: each exec, its calls in order, and after a
 * call the session that answers it.
 */
export type Step = WalkedSession | WalkedExec | WalkedCall | WalkedEnd;

/** A session begins. */
export interface WalkedSession {
  readonly is: "session";
  readonly session: SessionDescription;
  /** The call that it answers; null: the walk began with it. */
  readonly call: WalkedCall | null;
  /** 0 for the session with which the walk began. */
  readonly depth: number;
}

export interface WalkedExec {
  readonly is: "exec";
  readonly in: WalkedSession;
  readonly exec: ExecDescription;
  /** The ask or turn that it is a part of, if the walk has met that. */
  readonly above: WalkedExec | null;
  /** Execs above it. */
  readonly level: number;
}

export interface WalkedCall {
  readonly is: "call";
  readonly of: WalkedExec;
  readonly call: CallDescription;
}

/** The calls of an exec have ended. */
interface WalkedEnd {
  readonly is: "end";
  readonly of: WalkedExec;
}

/** The parts of a session that a walk goes through. Default: all. */
interface Route {
  execs?(session: SessionDescription): readonly ExecDescription[];
  /** Calls that are left out hide the sessions that answer them. */
  calls?(exec: WalkedExec): readonly CallDescription[];
}

/** Walks through a session and the described sessions that answer its calls. */
export function* walk(session: SessionDescription, route: Route = {}): Generator<Step> {
  // A stack of its own: how deep a stored tree is, its writer decides.
  const open = [stepsIn({ is: "session", session, call: null, depth: 0 }, route)];
  for (let steps = open.at(-1); steps; steps = open.at(-1)) {
    const { value: step, done } = steps.next();
    if (done) {
      open.pop();
      continue;
    }
    yield step;
    const child = step.is === "call" ? step.call.child?.description : null;
    if (step.is !== "call" || !child) continue;
    open.push(stepsIn({ is: "session", session: child, call: step, depth: step.of.in.depth + 1 }, route));
  }
}

/** The steps in one session. */
function* stepsIn(walked: WalkedSession, { execs, calls }: Route): Generator<Step, undefined> {
  yield walked;
  const known = new Map<number, WalkedExec>();
  for (const exec of execs?.(walked.session) ?? walked.session.execs) {
    const above = exec.parent === null ? null : (known.get(exec.parent) ?? null);
    const step: WalkedExec = { is: "exec", in: walked, exec, above, level: above ? above.level + 1 : 0 };
    known.set(exec.number, step);
    yield step;
    for (const call of calls?.(step) ?? exec.calls) yield { is: "call", of: step, call };
    yield { is: "end", of: step };
  }
}

/** Calls as people see them: the request of a turn is the turn itself. */
export const callsSeen = ({ turn, calls }: ExecDescription): readonly CallDescription[] => (turn ? [] : calls);
