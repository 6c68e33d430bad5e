import type { SubCallRequest } from "../../../builtins/index.ts";
import { type Json, RlmError, type Thinking } from "../../../runtime/index.ts";
import { failure, isFailureCode, type SubCallError } from "../../model/index.ts";
import type { Session } from "../api.ts";
import type { AskEnvelope, CellSettings, Citation } from "./api.ts";

/** A call that a child answers. */
interface ChildAsked {
  readonly request: SubCallRequest;
  /** The level of thinking of the call. */
  readonly thinking: Thinking;
  readonly settings: CellSettings;
  /** Aborting ends the child; the reason is an RlmError that says why. */
  readonly signal: AbortSignal;
  /** Aborting stops the child where it is. */
  readonly suspend?: AbortSignal | undefined;
}

/** The answer of a child. Citations are places of the child's P. */
export type ChildEnd =
  | { readonly ok: true; readonly answer: Json; readonly citations: readonly Citation[] }
  | { readonly ok: false; readonly error: SubCallError };

/** Turns of a child whose call names no number. */
const CHILD_TURNS = 10;

/**
 * Answers a call with context, by the ask of a child. A child is asked at most once. So an ask that an earlier process left
 * open is resumed, and one that is over answers with its record.
 *
 * @throws RlmError if the store fails: the call has no answer then, and is to be made again
 */
export async function askChild(session: ChildSession, asked: ChildAsked): Promise<ChildEnd> {
  try {
    return endOf(await askOnce(session, asked), asked);
  } catch (error) {
    if (!(error instanceof RlmError) || !isFailureCode(error.code)) throw error;
    // What cannot go on is not left to be resumed.
    await session.discard();
    return { ok: false, error: failure(error.code, error.message, { suggestion: error.suggestion }) };
  }
}

type ChildSession = Pick<Session, "ask" | "discard" | "resume">;

async function askOnce(session: ChildSession, asked: ChildAsked): Promise<AskEnvelope> {
  const { request, settings, thinking, signal, suspend } = asked;
  const before = await session.resume({ signal, suspend });
  if (before?.kind === "ask") return before.envelope;
  const { model, protocol, turn_tokens } = settings;
  return session.ask(request.prompt, {
    model: request.model ?? model ?? undefined,
    protocol,
    thinking,
    turnTokens: turn_tokens ?? undefined,
    schema: request.schema,
    maxTurns: request.max_turns ?? CHILD_TURNS,
    signal,
    suspend,
  });
}

function endOf(envelope: AskEnvelope, { request, signal, suspend }: ChildAsked): ChildEnd {
  if (envelope.success) {
    const { answer, citations } = envelope;
    const isValue = request.schema !== undefined || typeof answer === "string";
    return { ok: true, answer: isValue ? answer : JSON.stringify(answer), citations };
  }
  const { error_code, error_message, suggestion } = envelope;
  if (suspend?.aborted) return { ok: false, error: failure("cancelled", error_message) };
  if (envelope.resumable) throw new RlmError(error_code, error_message, { suggestion });
  const code = isFailureCode(error_code) ? error_code : "sub_agent_error";
  return { ok: false, error: whyStopped(signal) ?? failure(code, error_message) };
}

/** Why the caller has stopped the child; null: it has not. */
function whyStopped({ aborted, reason }: AbortSignal): SubCallError | null {
  if (!aborted || !(reason instanceof RlmError) || !isFailureCode(reason.code)) return null;
  return failure(reason.code, reason.message);
}
