import { hash } from "node:crypto";
import { LIMITS, RlmError } from "../../runtime/index.ts";
import { canonicalJson } from "../platform/cell-json.ts";
import { jsonOf } from "../platform/json.ts";
import { keyedCallsOf, type Session } from "../session/index.ts";
import { NOTHING_RECORDED, type Tool, type ToolEnvelope } from "./define.ts";
import { askAnswer } from "./rlm_ask.ts";

/** A call with the key that its host has given it. */
export interface KeyedCall {
  readonly tool: Tool;
  readonly args: unknown;
  readonly key: unknown;
  /** Finishes the exec of an earlier call that was interrupted. */
  finish(): Promise<ToolEnvelope>;
}

/** A call with a key, before it is made. */
export interface Keyed {
  /** The answer of an earlier call with this key; null: there is none. */
  readonly answer: ToolEnvelope | null;
  /** The exec that begins or is resumed next is recorded with the key. */
  begin(): void;
  /** No further exec is. */
  end(): void;
}

/** @throws RlmError `invalid_argument` for a key of another call, or one that is no key */
export async function keyedCall(session: Session, { tool, args, key, finish }: KeyedCall): Promise<Keyed> {
  if (typeof key !== "string" || key === "" || key.length > LIMITS.callKeyUnits) throw noKey();
  const call = { key, sum: hash("sha256", canonicalJson([tool.name, jsonOf(args)]) ?? "") };
  const calls = keyedCallsOf(session);
  const earlier = calls.find(key);
  if (earlier && earlier.sum !== call.sum) throw ofAnotherCall(tool, key);
  const answer = earlier && (await answerOf(session, { tool, args, finish }, earlier.exec_id));
  return { answer, begin: () => calls.next(call), end: () => calls.next(null) };
}

/**
 * The answer of an exec, which is finished if it was interrupted; null: it was cancelled, so the
 * call is to be made.
 */
async function answerOf(
  session: Session,
  { tool, args, finish }: Omit<KeyedCall, "key">,
  exec_id: string,
): Promise<ToolEnvelope | null> {
  if (session.unfinished()?.exec_id === exec_id) return finish();
  const recorded = await keyedCallsOf(session).answer(exec_id);
  if (!recorded) return null;
  const { ask, answer, stats } = recorded;
  if (ask) return askAnswer(ask);
  if (!answer.success && typeof answer.kind === "string") return tool.failed(failureIn(answer));
  // A query's answer is the tool's.
  if ("answer" in answer) return answer;
  return (await tool.recorded(args, { ...NOTHING_RECORDED, envelope: answer, stats })) ?? answer;
}

function failureIn(answer: ToolEnvelope) {
  const { error_code, error_message, suggestion } = answer;
  return { code: String(error_code), message: String(error_message), suggestion: String(suggestion) };
}

function noKey(): RlmError {
  const problem = `the idempotency key must be a text of 1 to ${LIMITS.callKeyUnits} characters`;
  const suggestion = "Build it from the run, the message and the position of the call in it, or leave it out.";
  return new RlmError("invalid_argument", problem, { suggestion });
}

function ofAnotherCall({ name }: Tool, key: string): RlmError {
  const problem = `the idempotency key ${JSON.stringify(key)} was given to a call with another tool or other arguments than this one of ${name}`;
  const suggestion = "A key names one call: build it from the run, the message and the position of the call in it.";
  return new RlmError("invalid_argument", problem, { suggestion });
}
