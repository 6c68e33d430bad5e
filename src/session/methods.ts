import { firstly, type Json, RlmError, remedy } from "../../runtime/index.ts";
import type { ContextStats } from "../context/index.ts";
import { displayName } from "../platform/ids.ts";
import type { SessionRow } from "../store/index.ts";
import type { LoadingOptions, LoadResult, LoadSource, Session } from "./api.ts";
import { ask } from "./ask/ask.ts";
import { discardInterrupted } from "./ask/ends.ts";
import { askEnvelope, factsOf } from "./ask/envelope.ts";
import { runAsk } from "./ask/loop.ts";
import { askIn } from "./ask/records.ts";
import { dryRun } from "./dry-run.ts";
import { type ExecAsked, type ExecOutcome, loadRequest, type Perform, requestOf } from "./exec/request.ts";
import { runExec } from "./exec/run-exec.ts";
import { positionOf } from "./exec/session-state.ts";
import { leftOf } from "./exec/work.ts";
import { type Account, interruptedIn, openAskIn } from "./journal/account.ts";
import type { Start } from "./journal/records.ts";
import { helpersOf, memoryOf } from "./memory-and-helpers.ts";
import {
  ASK_OPTIONS,
  checkOptions,
  checkQuestion,
  checkSource,
  EXEC_OPTIONS,
  LOAD_SOURCE,
  LOADING_OPTIONS,
  RESUME_OPTIONS,
} from "./options.ts";
import { askResumed, envelopeOf, finished, questionOf, replayed } from "./outcomes.ts";
import { queriesOver } from "./queries.ts";
import type { Setup } from "./setup.ts";
import { openTurns, type Turns } from "./turns.ts";

/** The methods of a session. Each that runs or reads something takes its turn. */
export function sessionOver(setup: Setup, giveBack: () => Promise<void>): Session {
  const { row, guest, state } = setup;
  // Starting a thread takes longer than what comes before the first exec: the two overlap.
  guest.prepare();
  // At the end of a turn the machine's state is kept, or the machine has been ended.
  const turns = openTurns(() => guest.rest());
  const perform = performing(setup, turns);
  const access = (kind: "memory" | "helpers") => ({
    change: async (input: Json) => {
      const outcome = await perform({ kind, input });
      return "value" in outcome ? outcome.value : null;
    },
    read: (input: Json) => turns.take(() => readFromGuest(setup, kind, input)),
  });
  async function close(): Promise<void> {
    if (!(await turns.close())) return;
    await guest[Symbol.asyncDispose]();
    await setup.children.closed();
    await giveBack();
    await setup.indexFolder[Symbol.asyncDispose]();
  }
  return {
    id: row.id,
    name: row.name,
    load: (source, options) => loadInto(setup, perform, "load", source, options),
    loadAppend: (source, options) => loadInto(setup, perform, "append", source, options),
    async holds(source, options) {
      const request = loadOf(setup, "load", source, options, "holds()");
      return turns.take(async () => {
        const [first] = state().context?.parts ?? [];
        return first !== undefined && (await request.read(null)).hash === first.hash;
      });
    },
    async exec(source, options = {}) {
      checkSource(source);
      checkOptions("exec()", EXEC_OPTIONS, options);
      const { limits = {}, rest = [], name, ...asked } = options;
      const named = name === undefined ? {} : { name };
      return envelopeOf(setup, await perform({ kind: "cell", source, limits, rest, ...named }, asked));
    },
    ...queriesOver(setup, perform),
    async ask(question, options = {}) {
      checkQuestion(question);
      checkOptions("ask()", ASK_OPTIONS, options);
      return turns.take(() => {
        refuseUnfinished(row, state().account);
        return ask(setup, question, options);
      });
    },
    async dryRun(source, options = {}) {
      checkSource(source);
      checkOptions("dryRun()", EXEC_OPTIONS, options);
      return turns.take(() => dryRun(setup, source, options));
    },
    unfinished() {
      const start = unfinishedIn(state().account);
      if (!start) return null;
      const { exec_id, kind, rest } = start;
      return { exec_id, kind, input: kind === "ask" ? questionOf(start) : start.input, rest };
    },
    async resume(options = {}) {
      checkOptions("resume()", RESUME_OPTIONS, options);
      const { trajectory = false, ...asked } = options;
      return turns.take(() => resume(setup, asked, trajectory));
    },
    discard: () => turns.take(() => discardInterrupted(setup)),
    memory: memoryOf(access("memory")),
    helpers: helpersOf(access("helpers")),
    stats: () => state().context?.stats ?? null,
    budget: () => leftOf(setup),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Runs execs in turn. Rejects with RlmError `exec_unfinished` while one is interrupted. */
function performing(setup: Setup, turns: Turns): Perform {
  return (request, asked = {}) =>
    turns.take(async () => {
      refuseUnfinished(setup.row, setup.state().account);
      return runExec(setup, request, asked);
    });
}

async function loadInto(
  setup: Setup,
  perform: Perform,
  kind: "load" | "append",
  from: LoadSource,
  options?: LoadingOptions,
): Promise<LoadResult> {
  const request = loadOf(setup, kind, from, options, kind === "load" ? "load()" : "loadAppend()");
  return { success: true, stats: statsOf(await perform(request)) };
}

/** The load that a caller asks for. @throws RlmError `invalid_argument` that names the place */
function loadOf(
  { granted, loading }: Setup,
  kind: "load" | "append",
  from: LoadSource,
  options: LoadingOptions = {},
  place: string,
) {
  checkOptions(place, LOAD_SOURCE, from);
  checkOptions(place, LOADING_OPTIONS, options);
  const { roots = [], signal } = options;
  granted.allow(roots);
  const reading = { ...loading, roots: [...granted.roots, ...roots], ...(signal ? { signal } : {}) };
  return loadRequest(kind, from, reading);
}

/** Reads change nothing, so they are not execs. */
async function readFromGuest({ guest, state }: Setup, kind: "memory" | "helpers", input: Json): Promise<Json> {
  const { sandbox } = await guest.use(positionOf(state()));
  return sandbox.enter(kind, input).catch(async (error: unknown) => {
    if (error instanceof RlmError && error.code === "machine_lost") await guest.end();
    throw error;
  });
}

async function resume(setup: Setup, asked: ExecAsked, trajectory: boolean): ReturnType<Session["resume"]> {
  const { state, granted, loading } = setup;
  const { account } = state();
  const open = openAskIn(account);
  if (open) return askResumed("finished", await runAsk(setup, asked, { isResumed: true, trajectory }));
  const interrupted = interruptedIn(account);
  if (!interrupted && isNewest(account)) {
    return askResumed("replayed", askEnvelope(factsOf(setup, askIn(state()), trajectory)));
  }
  if (!interrupted) return replayed(setup, account.last);
  const { start } = interrupted;
  const outcome = await runExec(setup, requestOf(start, granted, loading), asked, interrupted);
  return finished(setup, start, outcome);
}

/** The first record of what has begun and not ended: an ask, before an exec of it. */
function unfinishedIn(account: Account): Start | null {
  return (openAskIn(account) ?? interruptedIn(account))?.start ?? null;
}

/** True if nothing has run since the newest ask ended. */
function isNewest({ ask, last }: Account): boolean {
  return ask?.complete != null && (!last || last.start.ask === ask.start.exec_id);
}

/** @throws RlmError `exec_unfinished` */
function refuseUnfinished(session: SessionRow, account: Account): void {
  const start = unfinishedIn(account);
  if (!start) return;
  throw new RlmError("exec_unfinished", `a ${start.kind} of session ${displayName(session)} was interrupted`, {
    suggestion: `${firstly("resume")}, or ${remedy("discard")}.`,
  });
}

function statsOf(outcome: ExecOutcome): ContextStats {
  if (!("context" in outcome)) throw new Error("a load gave another outcome");
  return outcome.context.stats;
}
