import { DEFAULT_JOB_MS, LIMITS, RlmError } from "../../runtime/index.ts";
import type { Models } from "../models/index.ts";
import { given } from "../platform/json.ts";
import type { HostedOptions } from "../session/index.ts";
import type { WorkerSession } from "./api.ts";
import type { RunSpec } from "./spec.ts";

/** Options of the sessions of a run's jobs: what the run asks for, within what this process allows. Nothing of a row widens it. */
export function jobOptions(spec: RunSpec, own: WorkerSession): HostedOptions {
  const { model, limits, budget, memory_mb, max_session_mb, call_concurrency, max_depth, max_turns } = spec;
  const { cwd, indexDir, baseUrl, apiKeyEnv, price, leaveOut } = own;
  const { waitForServerMs = LIMITS.jobServerWaitMs } = own;
  return {
    // A job sees its context alone, and reads no files.
    roots: [],
    ...given({
      cwd,
      indexDir,
      baseUrl,
      apiKeyEnv,
      price,
      leaveOut,
      waitForServerMs,
      model: model ?? undefined,
      thinking: spec.thinking,
      sampling: spec.sampling,
      delivery: spec.delivery,
      memoryMb: least(memory_mb, own.memoryMb),
      maxSessionMb: least(max_session_mb, own.maxSessionMb),
      concurrency: least(call_concurrency, own.concurrency),
      maxDepth: least(max_depth, own.maxDepth),
    }),
    subAgents: given({ maxTurns: least(max_turns, own.subAgents?.maxTurns) }),
    limits: lesser(limits, own.limits ?? {}),
    budget: lesser({ max_time_ms: DEFAULT_JOB_MS, ...budget }, own.budget ?? {}),
    onRestart: spec.on_restart,
    cache: spec.cache,
    keepSteps: spec.keep_steps,
  };
}

/** Models of which jobs may ask only these; null: all. */
export function onlyThese(models: Models, allowed: WorkerSession["models"]): Models {
  if (allowed === null) return models;
  const checked = (name: string | null): string | null => {
    const wanted = name ?? models.fallback;
    if (wanted === null || allowed.includes(wanted)) return name;
    throw new RlmError("no_model_configured", `this worker does not ask ${wanted}`, {
      suggestion: `Name one of ${allowed.join(", ")}.`,
    });
  };
  return {
    fallback: models.fallback,
    resolve: (name) => models.resolve(checked(name)),
    price: (name) => models.price(checked(name)),
    ...(models.unlisted ? { unlisted: models.unlisted } : {}),
  };
}

type Numbers = { readonly [name: string]: number | null | undefined };

/** The lesser of each number that both have; null is no limit. */
function lesser<A extends Numbers, B extends Numbers>(a: A, b: B): { [Name in keyof (A & B)]?: number };
function lesser(a: Numbers, b: Numbers): { [name: string]: number | undefined } {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return given(Object.fromEntries([...names].map((name) => [name, least(a[name], b[name])])));
}

function least(a: number | null | undefined, b: number | null | undefined): number | undefined {
  const given = [a, b].filter((one) => one !== null && one !== undefined);
  return given.length === 0 ? undefined : Math.min(...given);
}
