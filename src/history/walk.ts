import type { CallDescription, ExecDescription, SessionDescription } from "./api.ts";

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
export interface Route {
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
