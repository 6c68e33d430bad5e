import type { Tool } from "./define.ts";
import { KEEPING } from "./keeping.ts";
import { rlm_ask } from "./rlm_ask.ts";
import { rlm_exec } from "./rlm_exec.ts";
import { rlm_load_append, rlm_load_unless_loaded } from "./rlm_load.ts";
import { rlm_query } from "./rlm_query.ts";
import { rlm_workflow } from "./rlm_workflow.ts";
import { rlm_status, rlm_wait, type SessionHost } from "./session-host.ts";

export type { WorkflowHost } from "../workflow/index.ts";
export type { Conversation, ConversationObjects } from "./conversation.ts";
export type { RecordedCall, Signals, Tool, ToolEnvelope } from "./define.ts";
export { beginning, bytesOf, fitted, withWarnings } from "./fit.ts";
export { finished, runTool } from "./interrupted.ts";
export { askAnswer } from "./rlm_ask.ts";
export { placedArguments } from "./rlm_load.ts";
export type { SessionHost } from "./session-host.ts";
export { changedSentence, inWordsOf, MODEL_CURES, unfinishedOf } from "./session-report.ts";

const TOOL_SETS = ["core", "workflow", "all"] as const;
export type ToolSet = (typeof TOOL_SETS)[number];

/**
 * The tools of a server that chooses the session by itself, in the order in which a model sees
 * them.
 */
export function serverTools(set: ToolSet, host: SessionHost): readonly Tool[] {
  const core = [
    rlm_load_unless_loaded,
    rlm_load_append,
    rlm_exec,
    rlm_query,
    rlm_ask,
    rlm_status(host),
    rlm_wait(host),
  ];
  if (set === "workflow") return [...core, rlm_workflow];
  return set === "core" ? core : [...core, ...KEEPING];
}
