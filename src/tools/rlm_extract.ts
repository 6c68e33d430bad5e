import { type Json, RlmError } from "../../runtime/index.ts";
import { jsonOf } from "../platform/json.ts";
import { emptyEnvelope } from "../session/empty-envelope.ts";
import type { QueryEnvelope, Session } from "../session/index.ts";
import { defineOpeningTool } from "./define.ts";
import { factsOf, readObjects, UNREAD } from "./read-objects.ts";

/** Two execs under one call: a model reads the text, and its answer is put into the memory. */
export const rlm_extract = defineOpeningTool({
  name: "rlm_extract",
  label: "RLM extract",
  description: "rlm_query of one object whose answer stays in memory: cells read it with memory.get('artifact/NAME').",
  promptSnippet: "Keep what a model finds in one object",
  parameters: {
    type: "object",
    required: ["instructions", "target", "name"],
    properties: {
      instructions: { type: "string" },
      target: { type: "string" },
      name: { type: "string", minLength: 1, maxLength: 200 },
    },
  },
  async run(open, { instructions, target, name }, call) {
    const asked = { tool: "rlm_extract", instructions, targets: [target] };
    const query = await readObjects(open, asked, call);
    if (!query.success) return unkept(query);
    const { estimate } = query;
    return { ...(await keep(await open(), name, query)), ...(estimate ? { estimate } : {}) };
  },
  next: ({ name }, { query }) => (query?.success ? (session) => keep(session, name, query) : null),
  recorded: ({ name }, { query, input }) => (query ? unkept(query) : { key: keyOf(name), ...valueIn(input) }),
  failureFields: { ...emptyEnvelope, ...UNREAD, key: null },
});

const keyOf = (name: string) => `artifact/${name}`;

/** Keeps the answer. One that cannot be kept is returned too, because it was paid for. */
async function keep(session: Session, name: string, query: QueryEnvelope): Promise<object> {
  const value = jsonOf(query.results?.[0]);
  try {
    await session.memory.put(keyOf(name), value);
    return { key: keyOf(name), ...valueIn({ value }) };
  } catch (error) {
    if (!(error instanceof RlmError)) throw error;
    const { code, message, suggestion } = error;
    const failure = { error_code: code, error_message: `the answer could not be kept: ${message}`, suggestion };
    return { success: false, ...failure, key: null, ...valueIn({ value }) };
  }
}

/** The answer of a query that was not kept. */
function unkept(query: QueryEnvelope): object {
  return { ...UNREAD, ...factsOf(query), key: null, ...query.results?.[0] };
}

/** The value that a change of the memory has put there. */
function valueIn(input: Json): object {
  const value: unknown = typeof input === "object" && input !== null ? Reflect.get(input, "value") : null;
  return typeof value === "object" && value !== null ? value : {};
}
