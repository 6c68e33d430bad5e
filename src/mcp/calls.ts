import { type Clock, RlmError } from "../../runtime/index.ts";
import { withoutUndefined } from "../platform/json.ts";
import { meantBy } from "../platform/nearest.ts";
import { keyedCallsOf, type Session } from "../session/index.ts";
import {
  askAnswer,
  changedSentence,
  finished,
  placedArguments,
  runTool,
  type SessionHost,
  type Signals,
  serverTools,
  type Tool,
  type ToolEnvelope,
  type ToolSet,
} from "../tools/index.ts";
import { answerOf, pageOf, type Shown, shownBy } from "./answer.ts";
import { openProgressNotes, progressMessage } from "./call.ts";
import { type Called, type CallRunner, openCallRunner } from "./call-runner.ts";
import { type Connection, type ConnectionParts, openConnection } from "./connection.ts";
import { OF_CALL } from "./protocol.ts";
import { answerOfExec, statusOf } from "./status.ts";

/** A request of the client. */
interface Request {
  /** Aborted when the client gives the request up. */
  readonly signal: AbortSignal;
  /** Tells the client how far its request is; null if it did not ask for that. */
  readonly notify: ((progress: number, message: string) => void) | null;
  /** The key that the client gives the call, unchecked; undefined: it gives none. */
  readonly key?: unknown;
  /** The name that the client gives itself; empty if it gives none. */
  readonly client: string;
}

/** The state that calls of all tools share. It is made with the first call. */
export interface Calls {
  readonly connection: Connection;
  readonly runner: CallRunner;
  /** Never rejects: what goes wrong is an answer that says so. */
  call(
    name: string,
    args: unknown,
    options: Request,
  ): Promise<{ content: { type: "text"; text: string }[]; isError: boolean }>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface CallsParts extends Omit<ConnectionParts, "onProgress"> {
  readonly tools: ToolSet;
  readonly limits: AnswerLimits;
  readonly suspend: AbortSignal;
}

/** Limits of answers: the client's patience, ms, and bytes. */
export interface AnswerLimits {
  readonly answerMs: number;
  /** The limit of a request whose client is told of progress. */
  readonly answerMsWithProgress: number;
  /** null: what the client shows its model. */
  readonly answerBytes: number | null;
}

export function openCalls({ tools: set, limits, suspend, ...parts }: CallsParts): Calls {
  const { clock } = parts;
  const runner = openCallRunner({
    clock,
    suspend,
    execId: () => connection.current()?.unfinished()?.exec_id ?? null,
    endCancelled: async (tool) => finished(await connection.look(), tool, {}, { signal: AbortSignal.abort(), suspend }),
  });
  const changes = openChangedFiles(clock);
  const connection = openConnection({ ...parts, onProgress: runner.progress });

  /** A call of a tool that works in the session, when its turn has come. */
  async function work(tool: Tool, args: unknown, signals: Signals, key: unknown): Promise<ToolEnvelope> {
    const cwd = await connection.roots.first();
    const { workflows } = parts.source;
    const host = { cwd, ...withoutUndefined({ workflows }) };
    return runTool(() => connection.open(), tool, args, { ...host, ...signals, idempotencyKey: key });
  }

  /** Never rejects: what goes wrong is an answer that says so. */
  async function call(name: string, args: unknown, { signal, notify, client, key }: Request) {
    const shown = shownBy(client, limits.answerBytes);
    const tools = serverTools(
      set,
      sessionHost(connection, runner, () => called, shown),
    );
    const tool = tools.find((known) => known.name === name);
    if (!tool) return answerOf(unknownTool(name, tools), connection.warnings(), "", shown);
    const called: Called = { tool, signal, answerMs: notify ? limits.answerMsWithProgress : limits.answerMs };
    const cwd = await connection.roots.first();
    const given = placedArguments(tool, args, cwd);
    using notes =
      notify &&
      openProgressNotes(clock, (progress) => {
        const tally = runner.tally();
        if (tally) notify(progress, progressMessage(tally));
      });
    using _following = runner.follow(() => notes?.tell());
    const envelope = WITHOUT_TURN.has(name)
      ? await tool.run(() => connection.look(), given, { cwd, signal, suspend })
      : await runner.run(called, (signals) => work(tool, given, signals, key));
    const changed = OVER_CONTEXT.has(name) ? await changes.warnings(connection.current(), cwd) : [];
    const ended = runner.takeEnded().map((exec_id) => `finished: ${exec_id}`);
    const warnings = [...connection.warnings(), ...changed, ...ended];
    return answerOf(envelope, warnings, tool.rest, shown, connection.current());
  }

  return {
    connection,
    runner,
    call,
    async [Symbol.asyncDispose](): Promise<void> {
      await runner.idle();
      await connection[Symbol.asyncDispose]();
    },
  };
}

/** The answer to a call of a tool that is not there. */
function unknownTool(name: string, tools: readonly Tool[]): ToolEnvelope {
  const names = tools.map((tool) => tool.name);
  return {
    success: false,
    error_code: "invalid_argument",
    error_message: `tool ${name} not found${meantBy(name, names)}`,
    suggestion: `Tools are ${names.join(", ")}.`,
  };
}

/**
 * Answers the calls of rlm_status and rlm_wait. @param called such a call @param shown of an answer
 * by the client
 */
function sessionHost(connection: Connection, runner: CallRunner, called: () => Called, shown: Shown): SessionHost {
  return {
    status: () => statusOf(connection, runner),
    async goTo(session) {
      if (runner.current()) {
        throw new RlmError("exec_running", "an exec of this session is running", {
          suggestion: "Call rlm_wait for its answer first, or with discard: true to give it up.",
        });
      }
      return statusAfter(connection, runner, called(), () => connection.goTo(session));
    },
    async discard() {
      if (await runner.cancel()) return statusOf(connection, runner);
      return statusAfter(connection, runner, called(), async () => (await connection.look()).discard());
    },
    async page(exec_id, from) {
      return pageOf(await recorded(connection, exec_id), from, shown);
    },
    async wait(given) {
      const exec_id = given && (await execOf(connection, given));
      const known = await runner.wait(called(), exec_id);
      if (known) return known;
      const unfinished = (await connection.look()).unfinished()?.exec_id;
      if (unfinished === undefined || (exec_id !== null && exec_id !== unfinished))
        return recorded(connection, exec_id);
      // A client that gives up waiting ends nothing.
      const patient = { ...called(), signal: new AbortController().signal };
      return runner.run(patient, async (signals) => {
        const session = await connection.look();
        // A call that came before has finished it.
        if (session.unfinished()?.exec_id !== unfinished) return recorded(connection, unfinished);
        return finished(session, called().tool, {}, signals);
      });
    },
  };
}

/** Changes the session while no call may begin, and tells what there is. @throws RlmError */
async function statusAfter(
  connection: Connection,
  runner: CallRunner,
  called: Called,
  change: () => Promise<void>,
): Promise<object> {
  const changed = await runner.run(called, () => change().then(() => ({ success: true })));
  return changed.success && changed.running !== true ? statusOf(connection, runner) : changed;
}

/**
 * An exec by its id, or by the key of its call. @throws RlmError `cancelled` if the call had not
 * begun one when the server was killed
 */
async function execOf(connection: Connection, given: string): Promise<string> {
  if (!given.startsWith(OF_CALL)) return given;
  const exec = keyedCallsOf(await connection.look()).find(given.slice(OF_CALL.length));
  if (exec) return exec.exec_id;
  throw new RlmError("cancelled", "the server was started again before this call began anything", {
    suggestion: "Call the tool again.",
  });
}

/** The answer of an exec that has ended. @throws RlmError `invalid_argument` */
async function recorded(connection: Connection, exec_id: string | null): Promise<ToolEnvelope> {
  const { ask, answer } = await answerOfExec(connection, exec_id);
  return ask ? askAnswer(ask) : answer;
}

/** Tools that read the context. */
const OVER_CONTEXT: ReadonlySet<string> = new Set(["rlm_exec", "rlm_query", "rlm_ask"]);

const WITHOUT_TURN: ReadonlySet<string> = new Set(["rlm_status", "rlm_wait"]);

/** Looking at the files takes at most this share of the time, unless it is quick. */
const SHARE = 0.05;
const QUICK_MS = 100;

/**
 * Warns of files that differ from what is loaded. A large folder is not looked at with every call.
 */
function openChangedFiles(clock: Clock) {
  let of: string = "";
  let next: number = 0;
  let changed: readonly string[] = [];
  return {
    /** @param cwd names are relative to it */
    async warnings(session: Session | null, cwd: string): Promise<readonly string[]> {
      const hash = session?.stats()?.context_hash;
      if (!session || hash === undefined) return [];
      const begun = clock.monotonic();
      const context = `${session.id} ${hash}`;
      if (context === of && begun < next) return changed;
      // It is a remark: a call does not fail for it.
      const files = await session.changedFiles().catch(() => []);
      const ended = clock.monotonic();
      const took = ended - begun;
      [of, next] = [context, ended + (took < QUICK_MS ? 0 : took / SHARE)];
      const sentence = changedSentence(files, cwd);
      changed = sentence === null ? [] : [`context_changed: ${sentence}; rlm_load_append with its path adds them`];
      return changed;
    },
  };
}
