import * as v from "valibot";
import { type BranchEntry, callsOf, isEmptyFailure, isStopped, openCalls } from "../externalize/message.ts";
import { messageOn } from "./messages.ts";

// Entries about our execs on Pi's branch have ids, hashes and counts; all else is in the store (≤ 2
// KB each).

const text = v.string();

const StartSchema = v.object({
  tool_call_id: text,
  session: text,
  exec_id: text,
  kind: text,
  /** The checkpoint that it starts from. */
  parent: v.nullable(text),
});

const CompleteSchema = v.object({
  session: text,
  exec_id: text,
  kind: text,
  success: v.boolean(),
  error_code: v.nullable(text),
  /** The session's head after it. */
  checkpoint: v.nullable(text),
  context_hash: v.nullable(text),
  /** The key under which the store has the context. */
  context_key: v.nullable(text),
});

export type StartEntry = Readonly<v.InferOutput<typeof StartSchema>>;
export type CompleteEntry = Readonly<v.InferOutput<typeof CompleteSchema>>;

/** A call of one of our tools that has begun and has no result on the branch. */
export interface Unanswered {
  /** Tells it from every other call: ids may come again. */
  readonly key: string;
  readonly tool_call_id: string;
  readonly tool: string;
  readonly args: unknown;
  /** Its starts, the first one first: a call that died before its exec was stored is run again. */
  readonly starts: readonly StartEntry[];
  /** No user or assistant has said anything since: the turn can continue from its result. */
  readonly isTail: boolean;
  /** Pi stopped it when it left the session, and has a result that says so. */
  readonly isStopped: boolean;
}

/** A call while the branch is read. */
interface OpenCall extends Omit<Unanswered, "isTail"> {
  readonly starts: StartEntry[];
  isStopped: boolean;
}

/** Facts about us that a branch has. */
export interface BranchView {
  /** null if no exec ended on it. */
  readonly head: { session: string; checkpoint: string | null; context: string | null } | null;
  /** Ids of the execs that ended on it. */
  readonly completed: Set<string>;
  /** Execs that began on it, the oldest first. */
  readonly starts: StartEntry[];
  readonly unanswered: Unanswered[];
  /**
   * The ask or the cell that was begun last, if it is not over and nothing was run after it: its
   * provider failed, or it waits for the user.
   */
  readonly openWork: StartEntry | null;
  /** True if any entry is ours. */
  readonly isUsed: boolean;
}
/**
 * The state that a branch is at: `context` is the key of its context in the store; null: it has
 * none.
 */
export type BranchHead = NonNullable<BranchView["head"]>;

/** Kinds of execs that a later call may continue. */
const RESUMABLE: readonly string[] = ["ask", "cell"];

/**
 * Reads a branch from its root to its leaf. Entries that are not ours, or not whole, are passed
 * over.
 */
export function readBranch(entries: readonly BranchEntry[], isOurs: (tool: string) => boolean): BranchView {
  const starts: StartEntry[] = [];
  const completed = new Map<string, CompleteEntry>();
  let openWork: StartEntry | null = null;
  const open = openCalls();
  const calls = new Map<string, OpenCall>();
  /**
   * Those at which the branch ends; if they were stopped, an answer without a word may follow them.
   */
  let tail = new Set<string>();
  for (const entry of entries) {
    const { type, customType, data } = entry;
    if (type === "custom" && customType === "rlm_start") {
      const read = v.safeParse(StartSchema, data);
      if (!read.success) continue;
      starts.push(read.output);
      calls.get(open.next(read.output.tool_call_id)?.key ?? "")?.starts.push(read.output);
      openWork = RESUMABLE.includes(read.output.kind) ? read.output : null;
    } else if (type === "custom" && customType === "rlm_complete") {
      const read = v.safeParse(CompleteSchema, data);
      if (!read.success) continue;
      // An exec that was mirrored twice has the place of its last entry.
      completed.delete(read.output.exec_id);
      completed.set(read.output.exec_id, read.output);
      openWork = null;
    } else {
      const said = messageOn(entry);
      if (!said) continue;
      const answered = calls.get(open.take(said)?.key ?? "");
      if (answered && isStopped(said)) answered.isStopped = true;
      else if (answered) calls.delete(answered.key);
      if (said.role === "user" || said.role === "assistant")
        tail = new Set(isEmptyFailure(said) ? [...tail].filter((key) => calls.get(key)?.isStopped) : []);
      for (const { key, id, name, args } of callsOf(said)) {
        tail.add(key);
        if (isOurs(name)) calls.set(key, { key, tool_call_id: id, tool: name, args, starts: [], isStopped: false });
      }
    }
  }
  const unanswered = [...calls.values()].flatMap((call): Unanswered[] => {
    const { key, isStopped: wasStopped } = call;
    const newest = call.starts.at(-1);
    if (!newest || (wasStopped && completed.get(newest.exec_id)?.error_code === "cancelled")) return [];
    return [{ ...call, isTail: tail.has(key) && (!wasStopped || starts.at(-1) === newest) }];
  });
  const last = [...completed.values()].at(-1);
  return {
    head: last ? { session: last.session, checkpoint: last.checkpoint, context: last.context_key } : null,
    completed: new Set(completed.keys()),
    starts,
    unanswered,
    openWork,
    isUsed: starts.length > 0 || completed.size > 0,
  };
}

/** Place of the entry with which an exec begins; that behind the last entry if there is none. */
export function startOf(entries: readonly BranchEntry[], exec_id: string): number {
  const isStart = ({ customType, data }: BranchEntry) =>
    customType === "rlm_start" && v.is(StartSchema, data) && data.exec_id === exec_id;
  const at = entries.findIndex(isStart);
  return at < 0 ? entries.length : at;
}
