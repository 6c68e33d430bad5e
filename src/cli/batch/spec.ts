import { given } from "../../config/index.ts";
import { newSpec, type RunSpec } from "../../jobs/index.ts";
import type { AskedRun } from "./asked.ts";
import type { Script } from "./script.ts";

/** What each job of the run does. Nothing in it is a key or a place. */
export function specOf({ settings, own, options, rates }: AskedRun, script: Script, context: ContextMode): RunSpec {
  const { max_execution_ms, max_output_bytes, max_find_results, max_result_bytes } = settings;
  const { max_tokens, max_sub_calls, max_time_ms, max_cost_usd } = settings;
  return newSpec({
    script,
    model: settings.model ?? null,
    limits: given({ max_execution_ms, max_output_bytes, max_find_results, max_result_bytes }),
    budget: given({ max_tokens, max_sub_calls, max_time_ms, max_cost_usd }),
    context,
    rates: [...rates],
    ...given({
      thinking: settings.thinking,
      memory_mb: settings.memory_mb,
      call_concurrency: settings.concurrency,
      max_turns: settings.max_turns,
      max_depth: settings.max_depth,
      retries: own.retries,
      on_budget: own.onBudget,
      on_restart: options.onRestart,
      cache: options.cache,
      keep_steps: options.keepSteps,
      keep_sessions: own.keepSessions,
      keep_ms: own.keep,
      fail_fast: own.failFast,
    }),
  });
}

/** No context, one that all jobs share, or one of each job's own. */
export type ContextMode = RunSpec["context"];
