import { withAbsolutePath } from "./absolute-path.ts";
import type { Tool } from "./define.ts";
import { rlm_ask } from "./rlm_ask.ts";
import { rlm_exec, rlm_exec_in_conversation } from "./rlm_exec.ts";
import { rlm_helpers_add } from "./rlm_helpers_add.ts";
import { rlm_helpers_list } from "./rlm_helpers_list.ts";
import { rlm_helpers_remove } from "./rlm_helpers_remove.ts";
import { rlm_load } from "./rlm_load.ts";
import { rlm_load_append } from "./rlm_load_append.ts";
import { rlm_memory_batch } from "./rlm_memory_batch.ts";
import { rlm_memory_clear } from "./rlm_memory_clear.ts";
import { rlm_memory_get } from "./rlm_memory_get.ts";
import { rlm_memory_list } from "./rlm_memory_list.ts";
import { rlm_memory_put } from "./rlm_memory_put.ts";
import { rlm_peek } from "./rlm_peek.ts";
import { rlm_query } from "./rlm_query.ts";
import { rlm_search } from "./rlm_search.ts";
import { rlm_stats } from "./rlm_stats.ts";
import { rlm_status } from "./rlm_status.ts";
import { rlm_wait } from "./rlm_wait.ts";
import type { SessionHost } from "./session-host.ts";

export type { Conversation, ConversationObjects } from "./conversation.ts";
export type { RecordedCall, Tool, ToolEnvelope } from "./define.ts";
export { fitted } from "./fit.ts";
export { NOTHING_RUN } from "./nothing.ts";
export { askAnswer } from "./rlm_ask.ts";
export type { SessionHost } from "./session-host.ts";
export { TOOLS_BUDGET, toolTokens } from "./tokens.ts";

/** Helpers and memory: cells reach both without tools. */
const KEEPING: readonly Tool[] = [
  rlm_helpers_add,
  rlm_helpers_list,
  rlm_helpers_remove,
  rlm_memory_put,
  rlm_memory_get,
  rlm_memory_batch,
  rlm_memory_list,
  rlm_memory_clear,
];

/** What reads the conversation that a host has. */
const CONVERSATION: readonly Tool[] = [rlm_peek, rlm_search, rlm_stats];

/** The tools of Pi, in the order in which a model sees them. */
export const tools: readonly Tool[] = [
  rlm_load,
  rlm_load_append,
  rlm_exec_in_conversation,
  rlm_query,
  rlm_ask,
  ...CONVERSATION,
  ...KEEPING,
];

export const TOOL_SETS = ["core", "all"] as const;
export type ToolSet = (typeof TOOL_SETS)[number];

/** The tools of a server that chooses the session by itself, in the order in which a model sees them. */
export function serverTools(set: ToolSet, host: SessionHost): readonly Tool[] {
  const loading = [rlm_load, rlm_load_append].map(withAbsolutePath);
  const core = [...loading, rlm_exec, rlm_query, rlm_ask, rlm_status(host), rlm_wait(host)];
  return set === "core" ? core : [...core, ...KEEPING];
}
