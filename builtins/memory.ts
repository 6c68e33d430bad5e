import { LIMITS } from "../runtime/index.ts";
import type { Builtin } from "./define.ts";

export const memory: Builtin = {
  name: "memory",
  signature: `memory.put(key: string, value: Json): void
memory.get(key: string): Json
memory.delete(key: string): boolean
memory.list(): string[]
memory.clear(): void
memory.batch(ops: MemoryOp[]): MemoryResult[]`,
  summary:
    "JSON values that outlive the cell, by key. put overwrites; get gives null for a missing key and a copy otherwise; a batch is all or nothing. At most 5 MB of keys and values. The names rlm_memory_put, _get, _delete, _list, _clear and _batch do the same.",
  example: 'memory.put("seen", [1, 2]);\nmemory.get("seen").length',
  errors: {
    js_error: "the key is not a string, or JSON cannot hold the value; the message has its path",
    memory_limit_exceeded: "the store would hold more than 5 MB",
  },
  types: `/** Any JSON value. A cell is not typed, so editors accept every use of it. */
type Json = any;
type MemoryOp = { op: "put"; key: string; value: Json } | { op: "get" | "delete"; key: string };
type MemoryResult = { op: string; key: string; ok?: boolean; value?: Json };`,
  source: new URL("./memory.guest.js", import.meta.url),
  host: { "memory.limit": () => LIMITS.memoryStoreBytes },
  aliases: ["put", "get", "delete", "list", "clear", "batch"].map((member) => `rlm_memory_${member}`),
};
