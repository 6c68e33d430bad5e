/** A global that the machine itself gives to every guest, for the reference and for editors. */
interface MachineName {
  readonly signature: string;
  readonly summary: string;
  /** Its line in belay.d.ts; absent if a cell has no use for it. */
  readonly declaration?: string;
}

/** Names that the machine itself gives to every guest. */
export const MACHINE_NAMES: Readonly<Record<string, MachineName>> = {
  print: {
    signature: "function print(...values: unknown[]): void",
    summary: "Writes its values and a newline to stdout: strings as they are, anything else as a readable text.",
    declaration: "declare function print(...values: unknown[]): void;",
  },
  console: {
    signature: `console.log(...values: unknown[]): void
console.info(...values: unknown[]): void
console.debug(...values: unknown[]): void
console.warn(...values: unknown[]): void
console.error(...values: unknown[]): void
console.table(data: unknown, columns?: string[]): void`,
    summary:
      "log, info and debug write to stdout as print does, warn and error to stderr. table draws rows and columns, 1,000 rows at most.",
    declaration: `interface Console {
  log(...values: unknown[]): void;
  info(...values: unknown[]): void;
  debug(...values: unknown[]): void;
  warn(...values: unknown[]): void;
  error(...values: unknown[]): void;
  table(data: unknown, columns?: string[]): void;
}
declare var console: Console;`,
  },
  builtins: {
    signature: "const builtins: object",
    summary:
      "Every builtin by its name, whatever a cell has declared: `builtins.count` is `count`, even in a session that has a variable of that name.",
    declaration: "declare const builtins: typeof globalThis;",
  },
  require: {
    signature: "function require(name: string): never",
    summary: "Throws `sandbox_violation`, as `import` does: there are no modules in a cell.",
  },
  result: {
    signature: "let result: unknown",
    summary:
      "Assign to it what the cell answers (`result_json`): any JSON value. If it is not assigned, the value of the cell's last expression statement counts. It is undefined when a cell begins.",
    declaration: "declare var result: unknown;",
  },
  result_meta: {
    signature: "let result_meta: unknown",
    summary: "Assign to it what describes the result (`result_meta`): pages, what was left out.",
    declaration: "declare var result_meta: unknown;",
  },
};

/**
 * Names that no cell or helper may declare, since programs rely on them. The list is closed: a
 * builtin that is added later is not in it, so that cells which use its name for themselves
 * continue working.
 */
const RESERVED: ReadonlySet<string> = new Set([
  ...["P", "peek", "peek_doc", "find", "search", "list_docs", "find_routes", "stats", "session", "limits", "budget"],
  ...["memory", "rlm_memory_put", "rlm_memory_get", "rlm_memory_delete", "rlm_memory_list", "rlm_memory_clear"],
  ...["rlm_memory_batch", "helpers", "llm_query", "llm_query_batch", "SubAgentError", "BudgetExceededError"],
  ...["PolicyViolationError", "SubCallTimeoutError", "ReentrancyError", "print", "console", "require"],
]);

export const isReserved = (name: string) => RESERVED.has(name);
