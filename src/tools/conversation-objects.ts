import { RlmError } from "../../runtime/index.ts";
import { findObject, pauses, type TextObject } from "../context/index.ts";
import type { ConversationObjects } from "./conversation.ts";

/** The object with this id. If P cannot be read, a failure says so. @throws RlmError `object_not_found`, `object_ambiguous` */
export async function objectNamed({ sources, problem }: ConversationObjects, id: string): Promise<TextObject> {
  try {
    return await findObject(sources, id, pauses());
  } catch (error) {
    if (problem === null || !(error instanceof RlmError)) throw error;
    const { code, message, suggestion } = error;
    throw new RlmError(code, `${message}; P cannot be read: ${problem}`, { suggestion, cause: error });
  }
}
