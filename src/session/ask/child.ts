import type { SubCallRequest } from "../../../builtins/index.ts";
import { type ExecSignals, type Json, RlmError } from "../../../runtime/index.ts";
import { failure, isFailureCode, type SubCallError } from "../../models/index.ts";
import type { Session } from "../api.ts";
import { mendedBy } from "../journal/call-warnings.ts";
import type { AskEnvelope, CellSettings, Citation } from "./api.ts";

/** The answer of a child. Citations are places of the child's P. */
export type ChildEnd =
  | {
      readonly ok: true;
      readonly answer: Json;
      readonly citations: readonly Citation[];
      /** Kinds of what was put right in the replies below it; undefined: nothing was. */
      readonly mended: readonly string[] | undefined;
    }
  | { readonly ok: false; readonly error: SubCallError };

/** Turns of a child whose call names no number. */
const CHILD_TURNS = 10;

/**
 * Answers a call with context, by the ask of a child. A child is asked at most once. So an ask that an earlier process left
 * open is resumed, and one that has ended answers with its record.
 *
 * @param settings with the level of thinking of the call. @param signals for the child: `signal` aborts with an RlmError that says why
 * @throws RlmError if the store fails: the call has no answer then, and is to be made again
 */
export async function askChild(
  session: ChildSession,
  request: SubCallRequest,
  settings: CellSettings,
  signals: ChildSignals,
): Promise<ChildEnd> {
  try {
    return endOf(await askOnce(session, request, settings, signals), request, signals);
  } catch (error) {
    if (!(error instanceof RlmError) || !isFailureCode(error.code)) throw error;
    // What cannot continue is not left to be resumed.
    await session.discard();
    return { ok: false, error: failure(error.code, error.message, { suggestion: error.suggestion }) };
  }
}

type ChildSession = Pick<Session, "ask" | "discard" | "resume">;
type ChildSignals = ExecSignals & { readonly signal: AbortSignal };

async function askOnce(
  session: ChildSession,
  request: SubCallRequest,
  { model, protocol, thinking, turn_tokens }: CellSettings,
  signals: ChildSignals,
): Promise<AskEnvelope> {
  const before = await session.resume(signals);
  if (before?.kind === "ask") return before.envelope;
  return session.ask(request.prompt, {
    model: request.model ?? model ?? undefined,
    protocol,
    thinking,
    turnTokens: turn_tokens ?? undefined,
    schema: request.schema,
    maxTurns: request.max_turns ?? CHILD_TURNS,
    ...signals,
  });
}

function endOf(envelope: AskEnvelope, request: SubCallRequest, { signal, suspend }: ChildSignals): ChildEnd {
  if (envelope.success) {
    const { answer, citations, warnings } = envelope;
    const isValue = request.schema !== undefined || typeof answer === "string";
    return { ok: true, answer: isValue ? answer : JSON.stringify(answer), citations, mended: mendedBy(warnings) };
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
