import { DEFAULT_JOB_MS, LIMITS, RlmError } from "../../runtime/index.ts";
import type { Models } from "../models/index.ts";
import { withoutUndefined } from "../platform/json.ts";
import type { HostedOptions } from "../session/index.ts";
import { optionsOfJob } from "../settings/options.ts";
import type { WorkerSession } from "./api.ts";
import type { RunSpec } from "./spec.ts";

/**
 * Options of the sessions of a run's jobs: what the run asks for, within what this process allows.
 * Nothing of a row widens it.
 */
export function jobOptions(spec: RunSpec, own: WorkerSession): HostedOptions {
  const { cwd, indexDir } = own;
  const budget = { max_time_ms: DEFAULT_JOB_MS, ...spec.budget };
  return {
    // A job sees its context alone, and reads no files.
    roots: [],
    waitForServerMs: LIMITS.jobServerWaitMs,
    ...optionsOfJob({ ...spec, budget }, own),
    ...withoutUndefined({ cwd, indexDir }),
    model: spec.model ?? undefined,
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
