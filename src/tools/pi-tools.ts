import type { Tool } from "./define.ts";
import { KEEPING } from "./keeping.ts";
import { rlm_ask } from "./rlm_ask.ts";
import { rlm_batch } from "./rlm_batch.ts";
import { rlm_exec_in_conversation } from "./rlm_exec.ts";
import { rlm_extract } from "./rlm_extract.ts";
import { rlm_ingest } from "./rlm_ingest.ts";
import { rlm_load, rlm_load_append } from "./rlm_load.ts";
import { rlm_peek } from "./rlm_peek.ts";
import { rlm_query_in_conversation } from "./rlm_query_in_conversation.ts";
import { rlm_search } from "./rlm_search.ts";
import { rlm_stats } from "./rlm_stats.ts";
import { rlm_workflow_in_pi } from "./rlm_workflow.ts";

// A door of its own: what reads a conversation loads the layer of contexts, and a server lists its
// tools without that.

/** Tools that read the conversation of a host. */
const CONVERSATION: readonly Tool[] = [rlm_peek, rlm_search, rlm_stats];

/** The tools of Pi, in the order in which a model sees them. */
export const tools: readonly Tool[] = [
  rlm_load,
  rlm_load_append,
  rlm_ingest,
  rlm_exec_in_conversation,
  rlm_query_in_conversation,
  rlm_batch,
  rlm_extract,
  rlm_ask,
  rlm_workflow_in_pi,
  ...CONVERSATION,
  ...KEEPING,
];
