import { DEFAULT_BUDGET, DEFAULT_EXEC_LIMITS, type ExecLimits, LIMITS, MAX_EXEC_LIMITS } from "../../runtime/index.ts";

type Unit = "bytes" | "ms" | "count";

interface Note {
  readonly what: string;
  readonly unit: Unit;
}

const EXEC_NOTES: Readonly<Record<keyof ExecLimits, Note>> = {
  max_output_bytes: { what: "stdout and stderr of one exec together", unit: "bytes" },
  max_execution_ms: { what: "running time of the guest in one exec", unit: "ms" },
  max_find_results: { what: "matches that one find returns", unit: "count" },
  max_result_bytes: { what: "`result` and `result_meta` together, as JSON", unit: "bytes" },
};

const FIXED_NOTES: Readonly<Record<keyof typeof LIMITS, Note>> = {
  wholeResultBytes: { what: "a result that `--output` writes (library: `deliver` of `exec`)", unit: "bytes" },
  sourceBytes: { what: "source of a cell", unit: "bytes" },
  sessionMb: {
    what: "MB that a session takes in the store, with its contexts and children (`--max-session-mb`, `maxSessionMb` set it)",
    unit: "count",
  },
  guestHeapBytes: { what: "the guest's heap, without P (`--memory-mb`, `memoryMb` set it)", unit: "bytes" },
  memoryStoreBytes: { what: "keys and values of `memory`", unit: "bytes" },
  helpersBytes: { what: "names and sources of all helpers", unit: "bytes" },
  searchResults: { what: "hits that one search returns", unit: "count" },
  routeResults: { what: "routes that one find_routes returns", unit: "count" },
  listedDocuments: { what: "documents that one list_docs returns", unit: "count" },
  files: { what: "files of a context (`--max-files`, `maxFiles` set it)", unit: "count" },
  mostContextMb: { what: "MB that `--max-context-mb` and `maxContextMb` may allow a context", unit: "count" },
  mostFiles: { what: "files that `--max-files` and `maxFiles` may allow a context", unit: "count" },
  documentPlaces: { what: "pages, slides, cells and the like in the converted documents of a context", unit: "count" },
  contextBytes: {
    what: "a context, in UTF-8 (`--max-context-mb`, `maxContextMb` set it); a larger one lies in files",
    unit: "bytes",
  },
  directoryFileBytes: {
    what: "a file that agents may read; of larger ones in a folder the largest are left out of a context without room",
    unit: "bytes",
  },
  searchIndexBytes: {
    what: "the index of a context for search, on disk; of a large context as much as its text, if that is more",
    unit: "bytes",
  },
  errorMessageUnits: { what: "message of an error, in characters", unit: "count" },
  batchPrompts: { what: "prompts of one llm_query_batch", unit: "count" },
  promptBytes: { what: "one prompt", unit: "bytes" },
  functionCalls: { what: "calls of functions since the last load (`budget.max_functions` sets it)", unit: "count" },
  functionBytes: { what: "the argument of a function, and its result, as JSON", unit: "bytes" },
  contextPlaces: { what: "places of P that the `context` of one sub-call names", unit: "count" },
  askTurns: { what: "turns of an ask that can be asked for", unit: "count" },
  childSubCalls: { what: "`max_sub_calls` of a sub-call with `context`", unit: "count" },
  childSubCallsDefault: { what: "`max_sub_calls` of such a call, unless it says otherwise", unit: "count" },
  answerUnits: { what: "answer of one sub-call, in characters", unit: "count" },
  replyBytes: { what: "reply of a provider, beside 1 KB for each token of its answer", unit: "bytes" },
  errorBodyBytes: { what: "reply of a provider that is an error, as far as it is read", unit: "bytes" },
  subAgentTurns: { what: "turns of a sub-agent", unit: "count" },
  agentBytes: {
    what: "what a command that answers a call may print (`max_bytes` of its entry sets it)",
    unit: "bytes",
  },
  agentSeconds: { what: "seconds of such a command (`timeout_s` sets it)", unit: "count" },
  workflowAtOnce: { what: "agents of a workflow at once", unit: "count" },
  workflowAgents: { what: "agents of a workflow", unit: "count" },
  workflowItems: { what: "items of one `parallel` or `pipeline`", unit: "count" },
  subCallMaxTokens: { what: "output tokens of one request, unless `max_tokens` says otherwise", unit: "count" },
  subCallTimeoutMs: { what: "one sub-call, unless `timeout_ms` says otherwise", unit: "ms" },
  localCallTimeoutMs: {
    what: "the same at a server of one's own, on this computer or in a private network",
    unit: "ms",
  },
  taskMs: { what: "one use of a sub-agent's tool, one check of a schema or an answer", unit: "ms" },
  concurrency: { what: "sub-calls in flight at once (`--concurrency`, `max_concurrent` of a batch)", unit: "count" },
  maxConcurrency: { what: "sub-calls in flight at once that can be asked for", unit: "count" },
  depth: { what: "levels of calls with a context of their own (`--depth`)", unit: "count" },
  maxDepth: { what: "levels of such calls that can be asked for", unit: "count" },
  guestsPerLevel: { what: "guests of children that are alive at once, at each depth", unit: "count" },
  timeOverMs: { what: "running time that a cell has left when the session's time is over", unit: "ms" },
  idleMs: {
    what: "an unused machine, before it is given up to its checkpoint (`idleMs`)",
    unit: "ms",
  },
  idleThreadMs: { what: "a thread that serves no machine, before it ends", unit: "ms" },
  callKeys: { what: "keys of calls (`idempotencyKey`) that a session remembers, the newest", unit: "count" },
  callKeyUnits: { what: "such a key, in characters", unit: "count" },
  onceWaitMs: {
    what: 'a graceful stop that waits for a running function with the effects "once" (`onceWaitMs`)',
    unit: "ms",
  },
  leadUnits: {
    what: "characters that calls begin with in common, from which the first goes ahead for the provider's cache",
    unit: "count",
  },
  leadMs: { what: "wait of the others for the beginning of its answer", unit: "ms" },
  serverWaitMs: {
    what: "wait for a model's server that has answered before and is away (`wait_for_server_ms`)",
    unit: "ms",
  },
  jobServerWaitMs: { what: "the same wait in jobs of runs", unit: "ms" },
  serverWaitMost: { what: "the most that `wait_for_server_ms` can be", unit: "ms" },
  rateWaitMs: { what: "wait of a job for a rate before it is parked", unit: "ms" },
};

const BUDGET_NOTES: Readonly<Record<keyof typeof DEFAULT_BUDGET, Note>> = {
  max_tokens: { what: "tokens of all sub-calls, input and output", unit: "count" },
  max_sub_calls: { what: "sub-calls", unit: "count" },
  max_time_ms: { what: "time inside execs", unit: "ms" },
  max_cost_usd: { what: "dollars, by the models' price lists", unit: "count" },
};

/** The limits with their defaults, and the most that a caller gets if it may ask for more. */
export function limitsTables(): string {
  return [
    "These limits hold for one exec. `limits_override` (library: `limits` of `exec`) asks for others, within the maximum; a model cannot go beyond a limit that the user has set. The answer has `limits_applied`.",
    table(
      ["limit", "what", "default", "maximum"],
      entries(EXEC_NOTES).map(([name, { what, unit }]) => [
        `\`${name}\``,
        what,
        shown(DEFAULT_EXEC_LIMITS[name], unit),
        shown(MAX_EXEC_LIMITS[name], unit),
      ]),
    ),
    "Fixed:",
    table(
      ["what", "limit"],
      entries(FIXED_NOTES).map(([name, { what, unit }]) => [what, shown(LIMITS[name], unit)]),
    ),
    "Budget of a session, from one load to the next:",
    table(
      ["budget", "what", "default"],
      entries(BUDGET_NOTES).map(([name, { what, unit }]) => [`\`${name}\``, what, shown(DEFAULT_BUDGET[name], unit)]),
    ),
  ].join("\n\n");
}

function entries<Key extends string>(notes: Readonly<Record<Key, Note>>): [Key, Note][] {
  const keys: Key[] = [];
  for (const key in notes) keys.push(key);
  return keys.map((key) => [key, notes[key]]);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

function shown(value: number | null, unit: Unit): string {
  if (value === null) return "no limit";
  if (unit === "ms") return value % 1000 === 0 ? `${value / 1000} s` : `${value} ms`;
  if (unit === "count") return value.toLocaleString("en-US");
  return value % 2 ** 20 === 0 ? `${value / 2 ** 20} MB` : `${value / 2 ** 10} KB`;
}
