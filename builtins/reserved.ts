/**
 * Names that no cell or helper may declare, since programs rely on them. The list is closed: a builtin that is added later is
 * not in it, so that cells which use its name for themselves go on working.
 */
const RESERVED: ReadonlySet<string> = new Set([
  ...["P", "peek", "peek_doc", "find", "search", "list_docs", "find_routes", "stats", "session", "limits", "budget"],
  ...["memory", "rlm_memory_put", "rlm_memory_get", "rlm_memory_delete", "rlm_memory_list", "rlm_memory_clear"],
  ...["rlm_memory_batch", "helpers", "llm_query", "llm_query_batch", "SubAgentError", "BudgetExceededError"],
  ...["PolicyViolationError", "SubCallTimeoutError", "ReentrancyError", "print", "console", "require"],
]);

export const isReserved = (name: string) => RESERVED.has(name);
