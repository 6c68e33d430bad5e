import type { Json } from "../../../runtime/index.ts";
import { given, type PiSettings } from "../../config/index.ts";
import type { Progress, SessionOptions, SubAgentPolicy } from "../../session/index.ts";

/** Options of a session inside Pi, apart from the user's settings. */
export interface OptionsParts {
  /** The project: the root of what may be loaded. */
  readonly cwd: string;
  readonly indexDir: string | undefined;
  /** Tools that Pi can lend to sub-agents. */
  readonly lent: NonNullable<SubAgentPolicy["tools"]>;
  readonly approve: NonNullable<SubAgentPolicy["approve"]>;
  readonly onProgress: (progress: Progress) => void;
}

export function sessionOptionsOf(settings: PiSettings, parts: OptionsParts): SessionOptions {
  const { max_execution_ms, max_output_bytes, max_find_results, max_result_bytes } = settings;
  const { max_turns, max_depth, concurrency, memory_mb, thinking } = settings;
  const { max_tokens, max_sub_calls, max_time_ms, max_cost_usd } = settings;
  const { allowed_tool_overrides, require_approval } = settings;
  const { cwd, indexDir, lent, approve, onProgress } = parts;
  return {
    cwd,
    roots: [cwd, ...(settings.roots ?? [])],
    limits: given({ max_execution_ms, max_output_bytes, max_find_results, max_result_bytes }),
    budget: given({ max_tokens, max_sub_calls, max_time_ms, max_cost_usd }),
    subAgents: { tools: lent, approve, ...given({ maxTurns: max_turns, allowed_tool_overrides, require_approval }) },
    ...given({ thinking, concurrency, maxDepth: max_depth, memoryMb: memory_mb, indexDir }),
    onProgress,
  };
}

/** The settings that are kept with the session, so that the command can go on with it. */
export function settingsToKeep(settings: PiSettings, model: string | null, cwd: string): Json {
  const { roots = [], concurrency, memory_mb, thinking } = settings;
  const { max_execution_ms, max_output_bytes, max_find_results, max_result_bytes } = settings;
  const { max_tokens, max_sub_calls, max_time_ms, max_cost_usd, max_turns, max_depth } = settings;
  const execs = { max_execution_ms, max_output_bytes, max_find_results, max_result_bytes };
  const limits = { ...execs, thinking, memory_mb, concurrency, max_turns, max_depth };
  const budget = { max_tokens, max_sub_calls, max_time_ms, max_cost_usd };
  const named = model === null ? {} : { model };
  return JSON.parse(JSON.stringify({ settings: { ...named, ...limits, ...budget, roots: [cwd, ...roots] }, cwd }));
}
