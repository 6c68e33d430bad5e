import type { Settings } from "../../config/index.ts";
import type { WorkerSession } from "../../jobs/index.ts";
import { indexFolder } from "../../platform/home.ts";
import { sessionOptions } from "../session/settings.ts";

/** What this process brings to the sessions of jobs, by its own flags and settings. */
export function workerSession(settings: Settings, models: readonly string[] | null): WorkerSession {
  const { model: _, ...own } = sessionOptions(settings);
  const indexDir = indexFolder(process.env);
  return { ...own, cwd: process.cwd(), models, ...(indexDir === undefined ? {} : { indexDir }) };
}
