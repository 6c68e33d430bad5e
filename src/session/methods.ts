import * as v from "valibot";
import { firstly, hasCode, type Json, RlmError, remedy } from "../../runtime/index.ts";
import { largeNote } from "../context/index.ts";
import { displayName } from "../platform/ids.ts";
import { withoutUndefined } from "../platform/json.ts";
import { objectsCell, queryCell } from "../query/index.ts";
import type { SessionRow } from "../store/index.ts";
import type { LoadResult, Session } from "./api.ts";
import { discardInterrupted } from "./ask/ends.ts";
import { changedFiles } from "./contexts/contexts.ts";
import { dryRun } from "./dry-run.ts";
import { beginCell } from "./exec/cell.ts";
import { loadRequest, runLoad } from "./exec/load.ts";
import { runCommand } from "./exec/run-exec.ts";
import type { ExecAsked, LoadRequest } from "./exec/work.ts";
import { ownBudget } from "./exec/work.ts";
import { type Account, interruptedIn, openAskIn, positionOf } from "./journal/account.ts";
import { questionOf } from "./journal/ask-records.ts";
import { queryEnvelope } from "./journal/envelope.ts";
import { leftForNext, type RemainingBudget, toldBudget } from "./journal/ledger.ts";
import type { Start } from "./journal/records.ts";
import { withKeyedCalls } from "./keyed-calls.ts";
import type { LoadingOptions, LoadSource } from "./option-types.ts";
import {
  ASK_OPTIONS,
  checkOptions,
  checkQuestion,
  checkSource,
  DRY_RUN_OPTIONS,
  EXEC_OPTIONS,
  LOAD_SOURCE,
  LOADING_OPTIONS,
  QUERY_OPTIONS,
  READING_OPTIONS,
  RESUME_OPTIONS,
} from "./options.ts";
import { leftOf, type SessionParts } from "./parts.ts";
import { resumeToEnd, runAskToEnd, runExecToEnd } from "./run-to-end.ts";
import { openTurns, type Turns } from "./turns.ts";

/** The methods of a session. Each that runs or reads something takes its turn. */
export function sessionOver(setup: SessionParts, giveBack: () => Promise<void>): Session {
  const { row, guest, state } = setup;
  // At the end of a turn the machine's state is kept, or the machine has been ended.
  const turns = openTurns(() => guest.rest());
  /** Runs work in its turn. Rejects with RlmError `exec_unfinished` while an exec is interrupted. */
  const whenFree = <T>(work: () => Promise<T>) =>
    turns.take(() => {
      refuseUnfinished(row, state().account);
      return work();
    });
  const loaded = async (request: LoadRequest): Promise<LoadResult> => {
    const { stats } = await whenFree(() => runLoad(setup, request));
    return { success: true, stats, ...withoutUndefined({ note: largeNote(stats) ?? undefined }) };
  };
  const access = (kind: "memory" | "helpers") => accessTo(setup, kind, { whenFree, turns });
  async function close(): Promise<void> {
    if (!(await turns.close())) return;
    await guest[Symbol.asyncDispose]();
    await setup.children.closed();
    await setup.agents.close();
    await giveBack();
    await setup.indexFolder[Symbol.asyncDispose]();
  }
  const session: Session = {
    id: row.id,
    name: row.name,
    limits: setup.rules.limits,
    load: async (source, options) => loaded(loadOf(setup, "load", source, options, "load()")),
    loadAppend: async (source, options) => loaded(loadOf(setup, "append", source, options, "loadAppend()")),
    async holds(source, options) {
      const request = loadOf(setup, "load", source, options, "holds()");
      return turns.take(async () => {
        const [first] = state().context?.parts ?? [];
        return first !== undefined && (await request.read(null)).hash === first.hash;
      });
    },
    async changedFiles({ signal } = {}) {
      const { account, context } = state();
      if (!context) return [];
      return changedFiles(context, account.loads, setup.granted, { ...setup.loading, ...withoutUndefined({ signal }) });
    },
    async exec(source, options = {}) {
      checkSource(source);
      checkOptions("exec()", EXEC_OPTIONS, options);
      const { limits = {}, rest = [], name, budget, workflow = false, ...asked } = options;
      const own = { ...withoutUndefined({ name }), ...ownBudget(budget), workflow };
      const request = { kind: "cell", source, limits: withoutUndefined(limits), rest, ...own } as const;
      const begin = (signals: ExecAsked) => beginCell(setup, request, signals);
      return whenFree(() => runExecToEnd(setup, asked, begin));
    },
    ...queriesOver(setup, whenFree),
    async ask(question, options = {}) {
      checkQuestion(question);
      checkOptions("ask()", ASK_OPTIONS, options);
      return whenFree(() => runAskToEnd(setup, question, options));
    },
    async dryRun(source, options = {}) {
      checkSource(source);
      checkOptions("dryRun()", DRY_RUN_OPTIONS, options);
      return turns.take(() => dryRun(setup, source, options));
    },
    unfinished() {
      const start = unfinishedIn(state().account);
      if (!start) return null;
      const { exec_id, kind, workflow, rest } = start;
      return { exec_id, kind, input: inputOf(start), workflow: workflow !== undefined, rest };
    },
    async resume(options = {}) {
      checkOptions("resume()", RESUME_OPTIONS, options);
      const { trajectory = false, ...asked } = options;
      return turns.take(() => resumeToEnd(setup, asked, trajectory));
    },
    discard: () => turns.take(() => discardInterrupted(setup)),
    memory: memoryOf(access("memory")),
    helpers: helpersOf(access("helpers")),
    stats: () => state().context?.stats ?? null,
    budget: () => leftForCall(setup),
    functions: () => setup.functions,
    agents: () => Object.keys(setup.options.agents ?? {}),
    close,
    [Symbol.asyncDispose]: close,
  };
  return withKeyedCalls(session, setup);
}

/** The budget that the next call of a session has. */
function leftForCall(session: Pick<SessionParts, "rules" | "above" | "state" | "questions">): RemainingBudget {
  const { rules, above, state, questions } = session;
  const { account } = state();
  const newest = account.question?.id ?? null;
  if (newest !== null && questions?.id(newest) === newest) return leftOf(session);
  const own = leftForNext(rules, account);
  return toldBudget(above?.budget.atMost(own) ?? own, rules, account);
}

const inputOf = (start: Start) => (start.kind === "ask" ? questionOf(start) : start.input);

/** Queries by cells shipped with Belay, on a machine that is thrown away. */
function queriesOver(setup: SessionParts, whenFree: Turns["take"]): Pick<Session, "query" | "readObjects"> {
  const skips = () => setup.state().context?.stats.skipped ?? null;
  return {
    async query(prompt, options = {}) {
      checkOptions("query()", QUERY_OPTIONS, options);
      const { maxSections, searchStrategy, budget, ...asked } = options;
      const source = queryCell(prompt, options);
      const request = { kind: "query", prompt, source, ...ownBudget(budget) } as const;
      return queryEnvelope(await whenFree(() => beginCell(setup, request, asked)), skips());
    },
    async readObjects(instructions, objects, options) {
      checkOptions("readObjects()", READING_OPTIONS, options);
      const { model, inlineTokens, maxTokens, estimate, ...asked } = options;
      const source = objectsCell(instructions, objects, options);
      const request = { kind: "query", prompt: instructions, source } as const;
      return queryEnvelope(await whenFree(() => beginCell(setup, request, asked)), skips());
    },
  };
}

/** The load that a caller asks for. @throws RlmError `invalid_argument` that names the place */
function loadOf(
  { granted, loading }: SessionParts,
  kind: "load" | "append",
  from: LoadSource,
  options: LoadingOptions = {},
  place: string,
) {
  checkOptions(place, LOAD_SOURCE, from);
  checkOptions(place, LOADING_OPTIONS, options);
  const { roots = [], signal, raw = false, includeSecrets: secrets = false, encoding, lossy = false } = options;
  granted.allow(roots);
  const documents = { ...loading.documents, raw, secrets, encoding, lossy };
  const reading = { ...loading, documents, roots: [...granted.roots, ...roots], ...(signal ? { signal } : {}) };
  return loadRequest(kind, from, reading);
}

/** The host's access to the guest's memory, or to its helpers. */
interface Access {
  /** An exec of its own. */
  change(input: Json): Promise<Json>;
  read(input: Json): Promise<Json>;
}

function accessTo(
  setup: SessionParts,
  kind: "memory" | "helpers",
  { whenFree, turns }: { readonly whenFree: Turns["take"]; readonly turns: Turns },
): Access {
  return {
    change: (input) => whenFree(() => runCommand(setup, { kind, input })),
    read: (input) => turns.take(() => readFromGuest(setup, kind, input)),
  };
}

function memoryOf({ change, read }: Access): Session["memory"] {
  return {
    async put(key, value) {
      await change({ op: "put", key, value });
    },
    get: (key) => read({ op: "get", key }),
    delete: async (key) => (await change({ op: "delete", key })) === true,
    list: async () => v.parse(Keys, await read({ op: "list" })),
    async clear() {
      await change({ op: "clear" });
    },
    batch: (ops) => change({ op: "batch", ops: ops.map((op) => ({ ...op })) }),
  };
}

function helpersOf({ change, read }: Access): Session["helpers"] {
  return {
    async add(name, code) {
      await change({ op: "add", name, code });
    },
    list: async () => v.parse(Scripts, await read({ op: "list" })),
    remove: async (name) => (await change({ op: "remove", name })) === true,
  };
}

/** Answers of the guest's prelude. */
const Keys = v.array(v.string());
const Scripts = v.array(v.object({ name: v.string(), code: v.string(), set_aside: v.exactOptional(v.string()) }));

/** Reads change nothing, so they are not execs. */
async function readFromGuest({ guest, state }: SessionParts, kind: "memory" | "helpers", input: Json): Promise<Json> {
  const { sandbox } = await guest.use(positionOf(state()));
  return sandbox.enter(kind, input).catch(async (error: unknown) => {
    if (hasCode(error, "machine_lost")) await guest.end();
    throw error;
  });
}

/** `a load`, `an ask`. */
const withArticle = (noun: string) => `${/^[aeiou]/.test(noun) ? "an" : "a"} ${noun}`;

/** The first record of what has begun and not ended: an ask, before an exec of it. */
function unfinishedIn(account: Account): Start | null {
  return (openAskIn(account) ?? interruptedIn(account))?.start ?? null;
}

/** @throws RlmError `exec_unfinished` */
function refuseUnfinished(session: SessionRow, account: Account): void {
  const start = unfinishedIn(account);
  if (!start) return;
  throw new RlmError(
    "exec_unfinished",
    `${withArticle(start.kind)} of session ${displayName(session)} was interrupted`,
    {
      suggestion: `${firstly("resume")}, or ${remedy("discard")}.`,
    },
  );
}
