import { Type } from "typebox";
import { type Json, RlmError } from "../../runtime/index.ts";
import { defineTool } from "./define.ts";
import { JSON_VALUE, jsonOf } from "./json-value.ts";

const OPERATIONS = ["put", "get", "delete"] as const;

export const rlm_memory_batch = defineTool({
  name: "rlm_memory_batch",
  label: "RLM memory",
  description: "Several operations in order, all or nothing. Returns results in the same order.",
  promptSnippet: "Put, get and delete several keys at once",
  parameters: Type.Object({
    ops: Type.Array(
      Type.Object({
        op: Type.Enum([...OPERATIONS], { type: "string" }),
        key: Type.String(),
        value: Type.Optional(JSON_VALUE),
      }),
    ),
  }),
  run: async (session, { ops }) => ({ results: await session.memory.batch(ops.map(operation)) }),
  recorded: ({ ops }, { before }) => ({ results: replayed(ops.map(operation), before.memory) }),
  failureFields: { results: [] },
});

type Operation = Parameters<import("../session/api.ts").SessionMemory["batch"]>[0][number];

/** @throws RlmError `invalid_argument` for a put of nothing */
function operation({ op, key, value }: { op: (typeof OPERATIONS)[number]; key: string; value?: unknown }): Operation {
  if (op !== "put") return { op, key };
  if (value !== undefined) return { op, key, value: jsonOf(value) };
  throw new RlmError("invalid_argument", `rlm_memory_batch: the put of ${JSON.stringify(key)} has no value`, {
    suggestion: "Pass a value, null included, or delete the key.",
  });
}

/** The results of the operations, computed from the memory before them. */
function replayed(ops: readonly Operation[], before: { readonly [key: string]: Json }): Json {
  const held = new Map(Object.entries(before));
  return ops.map((asked) => {
    const { op, key } = asked;
    if (op === "put") held.set(key, asked.value);
    if (op === "get") return { op, key, value: held.get(key) ?? null };
    return { op, key, ok: op === "put" || held.delete(key) };
  });
}
