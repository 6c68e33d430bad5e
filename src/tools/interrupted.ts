import { type Json, RlmError, remedy } from "../../runtime/index.ts";
import { jsonOf } from "../platform/json.ts";
import type { Session, Unfinished } from "../session/index.ts";
import { NOTHING_RECORDED, type Signals, type Tool, type ToolCall, type ToolEnvelope } from "./define.ts";
import { withWarnings } from "./fit.ts";
import type { Keyed, KeyedCall } from "./keyed-calls.ts";
import { askAnswer } from "./rlm_ask.ts";
import { leavesLoaded } from "./rlm_load.ts";

/**
 * Runs a tool in a session, and looks after what was interrupted first.
 *
 * @param open gives the session, once the arguments are known to be right
 */
export async function runTool(
  open: () => Promise<Session>,
  tool: Tool,
  args: unknown,
  call: ToolCall,
): Promise<ToolEnvelope> {
  let met: Met | undefined;
  let keyed: Keyed | null = null;
  const opened = async () => {
    const session = await open();
    const { signal, suspend, idempotencyKey: key } = call;
    const finish = () => finished(session, tool, args, { signal, suspend });
    keyed = key === undefined ? null : await keyedOf(session, { tool, args, key, finish });
    const begin = () => keyed?.begin();
    met = keyed?.answer
      ? { answer: keyed.answer, warnings: [] }
      : await meetUnfinished(session, { tool, args, call, begin });
    if (met.answer) throw ANSWERED;
    begin();
    return session;
  };
  const envelope = await tool.run(opened, args, call).finally(() => keyed?.end());
  return withWarnings(met?.answer ?? envelope, met?.warnings ?? []);
}

/**
 * The sessions' code is loaded by then: a server that only lists its tools does not wait for that.
 */
async function keyedOf(session: Session, call: KeyedCall): Promise<Keyed> {
  return (await import("./keyed-calls.ts")).keyedCall(session, call);
}

/** Ends the opening of a tool whose answer is there already. It is never shown. */
const ANSWERED = new RlmError("exec_unfinished", "the call was answered by what was interrupted", { suggestion: "" });

/** A call that is about to begin. */
interface Beginning {
  readonly tool: Tool;
  readonly args: unknown;
  readonly call: ToolCall;
  /** Notes that the exec which begins or is resumed next is that of the call. */
  begin(): void;
}

/** The answer to a call that meets an exec which another process began, with a note on it. */
interface Met {
  /** null: the call is still to be run. */
  readonly answer: ToolEnvelope | null;
  readonly warnings: readonly string[];
}

/**
 * Looks after what was interrupted before a call begins. The same call again is answered by
 * finishing it; a load gives it up, unless it is one of what is loaded; any other call finishes it
 * first.
 *
 * @throws RlmError `exec_unfinished` if it could not be finished; `path_not_found` … if the load of
 * another path cannot be done
 */
async function meetUnfinished(session: Session, { tool, args, call, begin }: Beginning): Promise<Met> {
  const unfinished = session.unfinished();
  if (!unfinished) return { answer: null, warnings: [] };
  const { exec_id } = unfinished;
  const { signal, suspend } = call;
  const signals = { signal, suspend };
  const cell = await tool.asks(session, args, call);
  if (cell === null ? isSameCall(unfinished, tool.name, args) : isCellOf(unfinished, cell)) {
    begin();
    return { answer: await finished(session, tool, args, signals), warnings: [] };
  }
  if (tool.name === "rlm_load") {
    if (await leavesLoaded(session, args, signals.signal)) return { answer: null, warnings: [] };
    await session.discard();
    return { answer: null, warnings: [`discarded: ${exec_id}`] };
  }
  if (isWorkflow(unfinished)) throw unfinishedWorkflow(unfinished);
  await finish(session, signals);
  return { answer: null, warnings: [`finished: ${exec_id}`] };
}

/** True if an exec runs the cell that begins so. */
const isCellOf = ({ kind, input }: Pick<Unfinished, "kind" | "input">, cell: string) =>
  kind === "cell" && typeof input === "string" && input.startsWith(cell);

const isWorkflow = ({ workflow }: Unfinished) => workflow === true;

/** A workflow may run for hours and spend much: another call does not finish it by the way. */
function unfinishedWorkflow({ exec_id }: Unfinished): RlmError {
  return new RlmError("exec_unfinished", `the workflow ${exec_id} was interrupted, and is not over`, {
    suggestion: `The same rlm_workflow call goes on with it; ${remedy("discard")} to give it up.`,
  });
}

async function finish(session: Session, signals: Signals): Promise<void> {
  // A load that fails rejects, and has ended then.
  const [end] = await Promise.allSettled([session.resume(signals)]);
  const left = session.unfinished();
  if (!left) return;
  if (end.status === "rejected") throw end.reason;
  throw new RlmError("exec_unfinished", `the ${left.kind} ${left.exec_id} was interrupted and could not be finished`, {
    suggestion: `Call the tool again, or ${remedy("discard")}.`,
  });
}

/** By what each kind of exec was asked, as the arguments of its tool have it. */
const ASKED_BY: Readonly<Record<string, readonly [kind: Unfinished["kind"], argument: string]>> = {
  rlm_exec: ["cell", "code"],
  rlm_query: ["query", "prompt"],
  rlm_ask: ["ask", "question"],
  rlm_load_append: ["append", "path"],
};

/** True if the call asks for what was interrupted. */
function isSameCall({ kind, input }: Pick<Unfinished, "kind" | "input">, tool: string, args: unknown): boolean {
  const [asks, argument = ""] = ASKED_BY[tool] ?? [];
  if (asks !== kind) return false;
  const given: unknown = typeof args === "object" && args !== null ? Reflect.get(args, argument) : undefined;
  return typeof given === "string" && given === textOf(input, argument);
}

function textOf(input: Json, field: string): unknown {
  return typeof input === "object" && input !== null ? Reflect.get(input, field) : input;
}

/** Finishes what was interrupted, as an answer of the tool that is asked. */
export async function finished(session: Session, tool: Tool, args: unknown, signals: Signals): Promise<ToolEnvelope> {
  const resumed = await session.resume(signals);
  if (resumed?.kind === "ask") return askAnswer(resumed.envelope);
  const { envelope = null } = resumed ?? {};
  if (envelope) return { success: envelope.success, ...jsonOf(envelope) };
  const answer = await tool.recorded(args, { ...NOTHING_RECORDED, stats: session.stats() });
  return answer ?? { success: true, kind: resumed?.kind ?? null };
}
