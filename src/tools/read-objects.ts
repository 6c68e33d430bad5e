import { RlmError } from "../../runtime/index.ts";
import { withoutUndefined } from "../platform/json.ts";
import { checkObjects, checkText, type FoundObject, isFound, type ObjectToRead } from "../query/index.ts";
import type { QueryEnvelope, Session } from "../session/index.ts";
import { type ConversationObjects, nameOf, objectNamed } from "./conversation.ts";
import { conversationOf, type ToolCall } from "./define.ts";

/** A tool call's request to models about objects. */
interface ObjectsAsked {
  readonly tool: string;
  readonly instructions: string;
  /** Ids of objects or documents, or beginnings of ids. */
  readonly targets: readonly string[];
  readonly model?: string | undefined;
  /** One model reads all of them. */
  readonly together?: boolean;
  /** An unknown id gets a failure instead of an answer, if at least one of the others is found. */
  readonly passesOver?: boolean;
}

/**
 * Has objects of the conversation or of P read by models, as far as the user allows it. All that
 * can be refused is refused before the session is opened and the exec begins.
 *
 * @throws RlmError `object_not_found`, `object_ambiguous`, `policy_violation`, `declined` and the
 * like
 */
export async function readObjects(
  open: () => Promise<Session>,
  { tool, instructions, targets, model, together = false, passesOver = false }: ObjectsAsked,
  call: ToolCall,
): Promise<QueryEnvelope> {
  const { signal, suspend } = call;
  const conversation = conversationOf(tool, call);
  const known = await conversation.objects();
  const objects = await Array.fromAsync(targets, async (target): Promise<ObjectToRead> => {
    const object = objectToRead(known, target);
    return passesOver ? object.catch((error: unknown) => missing(target, error)) : object;
  });
  const found = objects.filter(isFound);
  if (found.length === 0) for (const target of targets) await objectToRead(known, target);
  checkObjects(instructions, objects);
  const reading = { instructions, model: model ?? null, objects: found, together };
  const terms = await conversation.allowed(reading, signal);
  const session = await open();
  // Read last: a resume makes it of what stands before the exec's start. Until then it only grows,
  // so places stay.
  const history = found.some(({ of }) => of === "history") ? await conversation.history() : undefined;
  return session.readObjects(instructions, objects, {
    ...terms,
    together,
    signal,
    suspend,
    ...withoutUndefined({ model, history }),
  });
}

/** @throws RlmError `object_not_found`, `object_ambiguous`, `invalid_argument` */
async function objectToRead(known: ConversationObjects, target: string): Promise<FoundObject> {
  const { id, of, document } = await objectNamed(known, target);
  const { start, end } = document;
  const object = { id, name: nameOf({ of, document }), of, start, end };
  checkText(object);
  return object;
}

/**
 * The answer in place of an object that nobody can read. @throws what is not a failure of its name
 */
function missing(target: string, error: unknown): ObjectToRead {
  if (!(error instanceof RlmError)) throw error;
  const { code, message } = error;
  return { id: target, name: target, error: { code, message } };
}

/** Fields in place of the answer about an object. */
export const UNREAD = { object: null, name: null, answer: null, confidence: null, evidence: [] };

/** Facts about an exec that read objects, beside their answers. */
export function factsOf(envelope: QueryEnvelope): object {
  if (!envelope.success) return envelope;
  const { session_id, exec_id, warnings, execution_time_ms, budget, resumed, replayed_sub_calls } = envelope;
  return { session_id, exec_id, warnings, execution_time_ms, budget, resumed, replayed_sub_calls };
}
