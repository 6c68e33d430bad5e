/**
 * Every limit of the product with its default, in one table (RLM spec §3.1, §3.3, §5, §7; semantics
 * "Limits").
 */

const KB = 1024;
const MB = 1024 * KB;

/**
 * Limits of one exec, by their wire names. A caller may ask for others; `clampLimits` keeps them
 * within `MAX_EXEC_LIMITS`.
 */
export interface ExecLimits {
  /** stdout + stderr together, bytes of UTF-8. */
  max_output_bytes: number;
  /** Guest running time, ms: waiting for a sub-call and copying P into the guest do not count. */
  max_execution_ms: number;
  /** Matches that one `find` returns. */
  max_find_results: number;
  /** `result` and `result_meta` together, bytes of JSON. */
  max_result_bytes: number;
}

export const DEFAULT_EXEC_LIMITS: ExecLimits = {
  max_output_bytes: 100 * KB,
  max_execution_ms: 30_000,
  max_find_results: 10_000,
  max_result_bytes: MB,
};

/** The most that `limits_override` can ask for. */
export const MAX_EXEC_LIMITS: ExecLimits = {
  max_output_bytes: MB,
  max_execution_ms: 120_000,
  max_find_results: 100_000,
  max_result_bytes: MB,
};

/** Fixed limits: bytes of UTF-8 unless the name says otherwise. */
export const LIMITS = {
  /** The largest result that is handed over whole, and the most that `max_result_bytes` can be. */
  wholeResultBytes: 100 * MB,
  sourceBytes: 256 * KB,
  guestHeapBytes: 128 * MB,
  /** The space that a session takes in the store, MB. */
  sessionMb: 2048,
  memoryStoreBytes: 5 * MB,
  helpersBytes: MB,
  searchResults: 100,
  routeResults: 50,
  listedDocuments: 1000,
  files: 10_000,
  /** The most that a user may allow a context: MB of text, and documents. */
  mostContextMb: 16_384,
  mostFiles: 1_000_000,
  /** Places of converted documents in a context that have a label. */
  documentPlaces: 100_000,
  contextBytes: 100 * MB,
  directoryFileBytes: 10 * MB,
  searchIndexBytes: 400 * MB,
  errorMessageUnits: 8 * KB,
  batchPrompts: 1000,
  promptBytes: MB,
  /** Calls of functions that the program lends, and the JSON of an argument and of a result. */
  functionCalls: 1000,
  functionBytes: MB,
  /** Places of P that a sub-call with a context of its own may name. */
  contextPlaces: 10_000,
  askTurns: 100,
  /**
   * Sub-calls that such a call may allot to its model, and how many it does unless it says
   * otherwise.
   */
  childSubCalls: 1000,
  childSubCallsDefault: 10,
  answerUnits: 200_000,
  /**
   * The bytes of a provider's reply, beside what its answer may take; and those of a reply that is
   * an error.
   */
  replyBytes: MB,
  errorBodyBytes: 64 * KB,
  subAgentTurns: 10,
  /** The most that an agent of the user's own may print, and its time, unless its entry says otherwise. */
  agentBytes: 20 * MB,
  agentSeconds: 3600,
  /** Agents that a workflow may have at once and in all, and items of one fan-out. */
  workflowAtOnce: 16,
  workflowAgents: 1000,
  workflowItems: 4096,
  subCallMaxTokens: 4096,
  subCallTimeoutMs: 120_000,
  /** The same at a server of one's own, which may read a long prompt for minutes. */
  localCallTimeoutMs: 600_000,
  /** One use of a tool that reads, one check of a schema or answer. */
  taskMs: 10_000,
  /**
   * UTF-16 units of a beginning in common from which one call goes ahead: providers cache those of
   * 1,024 to 4,096 tokens and more.
   */
  leadUnits: 8192,
  /** Time for which the others wait for the beginning of its answer, ms. */
  leadMs: 15_000,
  /** Sub-calls in flight at once. */
  concurrency: 5,
  maxConcurrency: 100,
  /**
   * The depth that children may have, and the most that can be asked for. A session that a caller
   * opens has depth 0.
   */
  depth: 2,
  maxDepth: 5,
  /** Guests of children that are alive at once, at each depth. */
  guestsPerLevel: 4,
  timeOverMs: 5000,
  /**
   * Time that the machine of a session stays open while it is not used, ms. To open it again takes
   * some milliseconds.
   */
  idleMs: 60_000,
  /** Time that a thread without a machine stays, ms. */
  idleThreadMs: 10_000,
  /** Keys of calls that a session remembers, and the characters of one. */
  callKeys: 1000,
  callKeyUnits: 256,
  /** Time for which a graceful stop waits for a running function with the effects `once`, ms. */
  onceWaitMs: 10_000,
  /**
   * Time for which a server is waited for that answered before and is away, in a run's jobs, and
   * the most that can be asked for, ms.
   */
  serverWaitMs: 60_000,
  jobServerWaitMs: 600_000,
  serverWaitMost: 3_600_000,
  /** A wait for a provider's rate that is longer parks the job, ms. */
  rateWaitMs: 120_000,
} as const;

/** Budget of a session, by its wire names (spec §7.1). */
export const DEFAULT_BUDGET = {
  max_tokens: 500_000,
  max_sub_calls: 50,
  max_time_ms: 300_000,
  /** USD by the models' price lists; null: no limit. */
  max_cost_usd: null,
};

/** Wall time of an ask and of a job of a run, unless its budget says otherwise, ms. */
export const DEFAULT_ASK_MS = 1_800_000;
export const DEFAULT_JOB_MS = 3_600_000;

/**
 * Time after the deadline in which a machine may come to rest, and after which it is ended from
 * outside, ms.
 */
export const DRAIN_MS = 250;
export const TERMINATE_MS = 500;
/**
 * Time that a guest command or the capture of an image may take, ms. The stores that commands touch
 * hold at most 5 MB.
 */
export const COMMAND_MS = 10_000;

const MIN_EXEC_LIMITS: ExecLimits = {
  max_output_bytes: 100,
  max_execution_ms: 1,
  max_find_results: 1,
  max_result_bytes: 4,
};

/**
 * Returns the limits of one exec: the session's, or what the caller asks for between the minimum
 * and what policy allows.
 */
export function clampLimits(session: ExecLimits, override: Partial<ExecLimits> = {}): ExecLimits {
  const clamp = (name: keyof ExecLimits) => {
    const wanted = override[name];
    if (wanted === undefined || !Number.isFinite(wanted)) return session[name];
    // A session may itself have been given more than an override can ask for.
    const most = Math.max(session[name], MAX_EXEC_LIMITS[name]);
    return Math.min(Math.max(Math.floor(wanted), MIN_EXEC_LIMITS[name]), most);
  };
  return {
    max_output_bytes: clamp("max_output_bytes"),
    max_execution_ms: clamp("max_execution_ms"),
    max_find_results: clamp("max_find_results"),
    max_result_bytes: clamp("max_result_bytes"),
  };
}
