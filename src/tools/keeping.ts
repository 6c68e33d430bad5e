import type { Tool } from "./define.ts";
import { rlm_helpers_add, rlm_helpers_list, rlm_helpers_remove } from "./rlm_helpers.ts";
import { rlm_memory_batch, rlm_memory_clear, rlm_memory_get, rlm_memory_list, rlm_memory_put } from "./rlm_memory.ts";

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
