import { functionLines } from "../../builtins/index.ts";
import { wordedEnvelope } from "../../runtime/index.ts";
import { jsonOf } from "../platform/json.ts";
import {
  checkOptions,
  OBJECT,
  openSession,
  type Session,
  type SessionEvent,
  type SessionOptions,
  TOOLS_OPTIONS,
} from "../session/index.ts";
import { failureOf, type Tool, type ToolEnvelope, type ToolParameters } from "./define.ts";
import { fitted } from "./fit.ts";
import { runTool } from "./interrupted.ts";

import { rlm_ask } from "./rlm_ask.ts";
import { rlm_exec } from "./rlm_exec.ts";
import { placedArguments, rlm_load_append, rlm_load_unless_loaded } from "./rlm_load.ts";
import { rlm_query } from "./rlm_query.ts";
import { rlm_status } from "./session-host.ts";
import { MODEL_CURES, shortened, unfinishedOf } from "./session-report.ts";

export type { ToolParameter, ToolParameters } from "./define.ts";

/** A tool over a session, for the model of any program: each framework takes it in one line. */
export interface SessionTool {
  /** `rlm_load`, `rlm_load_append`, `rlm_exec`, `rlm_query`, `rlm_ask` or `rlm_status`. */
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments, of a draft from 7 to 2020-12. */
  readonly parameters: ToolParameters;
  /**
   * Runs the tool. Calls of all tools run one at a time, in the order they were made. It never
   * rejects: a failure has `success: false`, `error_code`, `error_message` and `suggestion`. The
   * same call after a crash continues where the first one stopped.
   *
   * @returns JSON of at most `answerBytes`
   */
  execute(args: unknown, options?: CallOptions | null): Promise<ToolAnswer>;
}

/**
 * A tool's answer: JSON of the caller's own, by wire names. Failures have `error_code`,
 * `error_message` and `suggestion`.
 */
export interface ToolAnswer {
  success: boolean;
  [field: string]: ToolJson;
}

/** JSON as frameworks type it: its lists can be changed. */
export type ToolJson = null | boolean | number | string | ToolJson[] | { [field: string]: ToolJson };

export interface CallOptions {
  /**
   * Names this call for the life of the session, in 1 to 256 characters. A later call with the same key gets the same
   * answer, and costs nothing, also after a crash or a failure, unless the first one was cancelled. With another tool
   * or other arguments it is `invalid_argument`. Build it from the run, the message and the position of the call in
   * it: a model's id of a call alone may come again. The newest 1,000 are remembered.
   */
  readonly idempotencyKey?: string | undefined;
  /** Aborting ends the call as `cancelled`. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Gets the events of this call. A session that was passed in reports them only to its own
   * `onProgress`.
   */
  readonly onProgress?: ((event: SessionEvent) => void) | undefined;
}

export interface ToolsOptions {
  /** Folder at which relative paths of the model start (default: the working directory). */
  readonly cwd?: string | undefined;
  /** Bytes of an answer, as JSON (default 51,200; at least 1,000). A longer one is cut, with a warning. */
  readonly answerBytes?: number | undefined;
}

/** The tools of one session. Disposing of them closes the session, unless the caller opened it. */
export interface SessionTools extends ReadonlyArray<SessionTool>, AsyncDisposable {
  readonly session: Session;
  /** Waits for pending calls, and closes the tools, as disposing of them does. */
  close(): Promise<void>;
}

/**
 * Opens the tools with which a model explores a context, for an open session or for one that these options open.
 *
 * @throws RlmError as `openSession`
 */
export async function openTools(
  given: Session | SessionOptions = {},
  options: ToolsOptions = {},
): Promise<SessionTools> {
  checkOptions("openTools()", OBJECT, given);
  checkOptions("openTools()", TOOLS_OPTIONS, options);
  const { cwd = process.cwd(), answerBytes } = options;
  let heard: CallOptions["onProgress"];
  const onProgress = (event: SessionEvent) => {
    heard?.(event);
    if (!isSession(given)) given.onProgress?.(event);
  };
  const session = isSession(given) ? given : await openSession({ ...given, cwd: given.cwd ?? cwd, onProgress });
  const lent = functionLines(session.functions());
  let turn: Promise<unknown> = Promise.resolve();

  const called = async (tool: Tool, args: unknown, options: CallOptions | null) => {
    const { signal, onProgress: listener, idempotencyKey } = options ?? {};
    heard = listener;
    const call = { cwd, signal: signal ?? NEVER, suspend: NEVER, idempotencyKey };
    const envelope = await runTool(async () => session, tool, placedArguments(tool, args, cwd), call);
    return fitted(wordedEnvelope(envelope, WORDING), tool.rest, answerBytes);
  };
  const shown = (tool: Tool): SessionTool => ({
    name: tool.name,
    description: tool === rlm_exec ? tool.description + lent : tool.description,
    parameters: parametersOf(tool),
    execute(args, options = null) {
      const done = turn
        .then(() => called(tool, args, options))
        .catch((error: unknown) => tool.failed(failureOf(error, { signal: NEVER })))
        .finally(() => {
          heard = undefined;
        })
        .then(answerOf);
      turn = done;
      return done;
    },
  });
  const close = async () => {
    await turn;
    if (!isSession(given)) await session.close();
  };
  return Object.assign(toolsOf(session).map(shown), { session, close, [Symbol.asyncDispose]: close });
}

const NEVER = new AbortController().signal;

/** A copy: a framework that changes it changes nothing else. */
function answerOf(envelope: ToolEnvelope): ToolAnswer {
  return { ...jsonOf(envelope), success: envelope.success };
}

function parametersOf({ parameters: { properties, required = [] } }: Tool): ToolParameters {
  const schema = { type: "object", properties, required, additionalProperties: true };
  return JSON.parse(JSON.stringify(schema));
}

function isSession(given: Session | SessionOptions): given is Session {
  return "loadAppend" in given;
}

function toolsOf(session: Session): readonly Tool[] {
  const status = async () => {
    const stats = session.stats();
    return {
      session: session.name,
      session_id: session.id,
      context: stats && shortened(stats),
      budget: session.budget(),
      unfinished: unfinishedOf(session),
    };
  };
  return [rlm_load_unless_loaded, rlm_load_append, rlm_exec, rlm_query, rlm_ask, rlm_status({ status })];
}

/** The cures that a model can use itself; the others are for the program that runs it. */
const WORDING = { load: MODEL_CURES.load, thenLoad: MODEL_CURES.thenLoad };
