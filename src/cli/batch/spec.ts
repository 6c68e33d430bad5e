import { basename, extname } from "node:path";
import { samplingIn } from "../../../runtime/index.ts";
import { given } from "../../platform/json.ts";
import { newSpec, type RunSpec } from "../../runs/index.ts";
import { type Cell, readCells } from "../input/cells.ts";
import type { AskedRun } from "./asked.ts";

/** The work of each job of the run. Nothing in it is a key or a place. */
export function specOf(
  { settings, own, options, rates, loading }: AskedRun,
  script: Cell,
  context: ContextMode,
): RunSpec {
  const { max_execution_ms, max_output_bytes, max_find_results, max_result_bytes } = settings;
  const { max_tokens, max_sub_calls, max_time_ms, max_cost_usd } = settings;
  const { encoding, lossy } = loading;
  const isUsual = encoding === undefined && !lossy;
  return newSpec({
    script,
    model: settings.model ?? null,
    limits: given({ max_execution_ms, max_output_bytes, max_find_results, max_result_bytes }),
    budget: given({ max_tokens, max_sub_calls, max_time_ms, max_cost_usd }),
    context,
    rates: [...rates],
    ...(isUsual ? {} : { decoding: given({ encoding, lossy: lossy || undefined }) }),
    ...given({
      thinking: settings.thinking,
      sampling: samplingIn(settings),
      delivery: settings.delivery,
      memory_mb: settings.memory_mb,
      max_session_mb: settings.max_session_mb,
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

const DIGITS = 8;
/** Room for the hash behind it, and for `-2` behind that. */
const BASE_UNITS = 80;

/** `reviews-3f2a91c0`: what a run is called unless `--name` says otherwise. @param hash of what the run does, hex */
export function runName(script: string, hash: string): string {
  const base = basename(script, extname(script)).replaceAll(/[^\p{L}\p{N}._-]+/gu, "-");
  return `${base.replace(/^[^\p{L}\p{N}]+/u, "").slice(0, BASE_UNITS) || "run"}-${hash.slice(0, DIGITS)}`;
}

/** The script that each job runs; its name is the file, for tracebacks. @throws UsageError, RlmError `source_too_large` */
export async function readScript(path: string, signal: AbortSignal): Promise<Cell> {
  const [cell] = await readCells([{ option: null, value: path }], signal, "batch");
  return { name: path, source: cell?.source ?? "" };
}
