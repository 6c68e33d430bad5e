import type { Tool } from "./define.ts";
import { rlm_helpers_add } from "./rlm_helpers_add.ts";
import { rlm_helpers_list } from "./rlm_helpers_list.ts";
import { rlm_helpers_remove } from "./rlm_helpers_remove.ts";
import { rlm_memory_batch } from "./rlm_memory_batch.ts";
import { rlm_memory_clear } from "./rlm_memory_clear.ts";
import { rlm_memory_get } from "./rlm_memory_get.ts";
import { rlm_memory_list } from "./rlm_memory_list.ts";
import { rlm_memory_put } from "./rlm_memory_put.ts";

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
