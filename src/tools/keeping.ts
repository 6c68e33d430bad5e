import { type Json, RlmError } from "../../runtime/index.ts";
import { defineTool, JSON_VALUE, type Tool, unrounded } from "./define.ts";

const rlm_memory_put = defineTool({
  name: "rlm_memory_put",
  label: "RLM memory",
  description: "Store a JSON value under a key (overwrites). Cells read it with memory.get(key).",
  promptSnippet: "Store a JSON value for later rlm calls",
  parameters: {
    type: "object",
    required: ["key", "value"],
    properties: { key: { type: "string" }, value: JSON_VALUE },
  },
  async run(session, { key, value }) {
    await session.memory.put(key, unrounded("rlm_memory_put", "value", value));
    return { key };
  },
  recorded: ({ key }) => ({ key }),
  failureFields: { key: null },
});

const rlm_memory_get = defineTool({
  name: "rlm_memory_get",
  label: "RLM memory",
  description: "Read the value of a key; null if there is none.",
  promptSnippet: "Read a stored value",
  parameters: { type: "object", required: ["key"], properties: { key: { type: "string" } } },
  run: async (session, { key }) => ({ key, value: await session.memory.get(key) }),
  rest: "In rlm_exec, memory.get(key) gives the whole value: print slices or parts of it.",
  failureFields: { key: null, value: null },
});

const rlm_memory_list = defineTool({
  name: "rlm_memory_list",
  label: "RLM memory",
  description: "List the keys.",
  promptSnippet: "List stored keys",
  parameters: { type: "object", properties: {} },
  run: async (session) => ({ keys: await session.memory.list() }),
  rest: "In rlm_exec, memory.list() gives them all: print slices.",
  failureFields: { keys: [] },
});

const rlm_memory_clear = defineTool({
  name: "rlm_memory_clear",
  label: "RLM memory",
  description: "Remove all keys and values.",
  promptSnippet: "Clear stored values",
  parameters: { type: "object", properties: {} },
  async run(session) {
    await session.memory.clear();
    return {};
  },
  recorded: () => ({}),
  failureFields: {},
});

const OPERATIONS = ["put", "get", "delete"] as const;

const rlm_memory_batch = defineTool({
  name: "rlm_memory_batch",
  label: "RLM memory",
  description: "Several operations in order, all or nothing.",
  promptSnippet: "Put, get and delete several keys at once",
  parameters: {
    type: "object",
    required: ["ops"],
    properties: {
      ops: {
        type: "array",
        items: {
          type: "object",
          required: ["op", "key"],
          properties: { op: { enum: OPERATIONS, type: "string" }, key: { type: "string" }, value: JSON_VALUE },
        },
      },
    },
  },
  run: async (session, { ops }) => ({ results: await session.memory.batch(ops.map(operation)) }),
  recorded: ({ ops }, { before }) => ({ results: replayed(ops.map(operation), before.memory) }),
  failureFields: { results: [] },
});

type Operation = Parameters<import("../session/index.ts").SessionMemory["batch"]>[0][number];

/** @throws RlmError `invalid_argument` for a put of nothing */
function operation({ op, key, value }: { op: (typeof OPERATIONS)[number]; key: string; value?: unknown }): Operation {
  if (op !== "put") return { op, key };
  if (value !== undefined) return { op, key, value: unrounded("rlm_memory_batch", "value", value) };
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

const rlm_helpers_add = defineTool({
  name: "rlm_helpers_add",
  label: "RLM helper",
  description:
    "Add (or replace) a helper: JavaScript that runs before each later cell, so that its functions are there.",
  promptSnippet: "Define functions for later rlm_exec calls",
  parameters: {
    type: "object",
    required: ["name", "code"],
    properties: { name: { type: "string" }, code: { type: "string" } },
  },
  async run(session, { name, code }) {
    await session.helpers.add(name, code);
    return { name };
  },
  recorded: ({ name }) => ({ name }),
  failureFields: { name: null },
});

const rlm_helpers_list = defineTool({
  name: "rlm_helpers_list",
  label: "RLM helpers",
  description: "List helpers in the order in which they run; set_aside says why one is left out.",
  promptSnippet: "List helpers",
  parameters: { type: "object", properties: {} },
  run: async (session) => ({ helpers: await session.helpers.list() }),
  rest: "In rlm_exec, helpers.list() gives them all: print slices.",
  failureFields: { helpers: [] },
});

const rlm_helpers_remove = defineTool({
  name: "rlm_helpers_remove",
  label: "RLM helper",
  description: "Remove a helper. removed is false if there was none.",
  promptSnippet: "Remove a helper",
  parameters: { type: "object", required: ["name"], properties: { name: { type: "string" } } },
  run: async (session, { name }) => ({ name, removed: await session.helpers.remove(name) }),
  recorded: ({ name }, { before }) => ({ name, removed: before.helpers.some((helper) => helper.name === name) }),
  failureFields: { name: null, removed: false },
});

/** Helpers and memory: cells reach both without tools. */
export const KEEPING: readonly Tool[] = [
  rlm_helpers_add,
  rlm_helpers_list,
  rlm_helpers_remove,
  rlm_memory_put,
  rlm_memory_get,
  rlm_memory_batch,
  rlm_memory_list,
  rlm_memory_clear,
];
