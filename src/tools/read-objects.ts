import { checkObjects, type ObjectToRead } from "../query/index.ts";
import type { QueryEnvelope, Session } from "../session/index.ts";
import { objectNamed } from "./conversation-objects.ts";
import { conversationOf, type ToolCall } from "./define.ts";
import { nameOf } from "./text-answer.ts";

/** What a call of a tool asks models to do with objects. */
export interface ObjectsAsked {
  readonly tool: string;
  readonly instructions: string;
  /** Ids of objects or documents, or beginnings of ids. */
  readonly targets: readonly string[];
  readonly model: string | undefined;
}

/**
 * Has objects of the conversation or of P read by models, as far as the user allows it. All that can be refused is refused
 * before the session is opened and the exec begins.
 *
 * @throws RlmError `object_not_found`, `object_ambiguous`, `policy_violation`, `declined` and the like
 */
export async function readObjects(
  open: () => Promise<Session>,
  { tool, instructions, targets, model }: ObjectsAsked,
  call: ToolCall,
): Promise<QueryEnvelope> {
  const { signal, suspend } = call;
  const conversation = conversationOf(tool, call);
  const known = await conversation.objects();
  const objects: ObjectToRead[] = [];
  for (const target of targets) {
    const { id, of, document } = await objectNamed(known, target);
    const { start, end } = document;
    objects.push({ id, name: nameOf({ of, document }), of, start, end });
  }
  checkObjects(instructions, objects);
  const terms = await conversation.allowed({ instructions, model: model ?? null, objects }, signal);
  const session = await open();
  // Read last: a resume makes it of what stands before the exec's start. Until then it only grows, so places stay.
  const history = objects.some(({ of }) => of === "history") ? await conversation.history() : undefined;
  return session.readObjects(instructions, objects, {
    ...terms,
    ...(model === undefined ? {} : { model }),
    ...(history === undefined ? {} : { history }),
    signal,
    suspend,
  });
}

/** What stands in place of the answer about an object. */
export const UNREAD = { object: null, name: null, answer: null, confidence: null, evidence: [] };

/** What is told of an exec that read objects, beside their answers. */
export function factsOf(envelope: QueryEnvelope): object {
  if (!envelope.success) return envelope;
  const { session_id, exec_id, warnings, execution_time_ms, budget, resumed, replayed_sub_calls } = envelope;
  return { session_id, exec_id, warnings, execution_time_ms, budget, resumed, replayed_sub_calls };
}
