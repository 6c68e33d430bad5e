import { resolve } from "node:path";
import { type LoadSource, RlmError } from "../../index.ts";
import { hashOfRun, type RunSpec, type Runs, type Submitted } from "../../jobs/index.ts";
import type { Asked, Jobs, RunRow } from "../../store/index.ts";
import { contextSource } from "../input/sources.ts";
import type { AskedRun } from "./asked.ts";
import { nextName, runName } from "./run-name.ts";
import type { Spool } from "./spool.ts";

/** Puts the jobs and their contexts into the store. Nothing is run yet. @throws RlmError `run_differs` and what loading throws */
export async function submit(
  asked: AskedRun,
  spec: RunSpec,
  spooled: Spool,
  { runs, jobs, signal }: { readonly runs: Runs; readonly jobs: Jobs; readonly signal: AbortSignal },
): Promise<Submitted> {
  const { own, limits } = asked;
  const base = own.name ?? runName(asked.script, hashOfRun(spec));
  const isThere = async (name: string) => (await jobs.run(name)) !== null;
  const name = own.isNew && (await isThere(base)) ? await nextName(base, isThere) : base;
  // In a folder each run has a queue of its own: a command works on the run that it was asked for.
  const queue = asked.store.isServer ? asked.queue : name;
  const there = await jobs.run(name);
  if (there) checkSame(asked, there);
  const run = { name, queue, share: own.share ?? 1, spec, limits };
  const submitted = await runs.submit(run, keepContexts(asked, spooled, runs, signal));
  if (!submitted.made && hasOtherLimits(asked, submitted)) await jobs.limit(submitted.run.id, limits);
  return submitted;
}

/** Its jobs have their ranks and their tickets already. @throws RlmError `run_differs` */
function checkSame({ own, store }: AskedRun, { name, queue, share }: RunRow): void {
  const [flag, is] =
    own.share !== undefined && own.share !== share
      ? ["--share", `a share of ${share}`]
      : store.isServer && own.queue !== undefined && own.queue !== queue
        ? ["--queue", `the queue ${queue}`]
        : [];
  if (flag === undefined) return;
  throw new RlmError("run_differs", `the run ${name} has ${is}, which ${flag} cannot change`, {
    suggestion: `Leave out ${flag}, or begin another run with --new.`,
  });
}

function hasOtherLimits({ limits }: AskedRun, { run }: Submitted): boolean {
  return (["nanodollars", "tokens", "sub_calls"] as const).some((name) => limits[name] !== run.limits[name]);
}

/** The jobs, whose contexts are put into the store one after the other. One that all share is put once. @throws RlmError */
export async function* keepContexts(
  { contexts }: AskedRun,
  spooled: Spool,
  runs: Runs,
  signal: AbortSignal,
): AsyncIterable<Asked> {
  const shared = contexts.length > 0 ? await keep(runs, await sharedSource(contexts, signal), contexts) : null;
  for await (const { id, input, context } of spooled.jobs()) {
    if (signal.aborted) throw cancelled();
    yield { id, input, context: context === null ? shared : await keep(runs, context, [context]) };
  }
}

function cancelled(): RlmError {
  return new RlmError("cancelled", "cancelled before anything was run", { suggestion: "Run the command again." });
}

/** What the user names may be read. */
function keep(runs: Runs, source: LoadSource, paths: readonly string[]): Promise<string> {
  const roots = paths.filter((path) => path !== "-").map((path) => resolve(path));
  return runs.keepContext(source, { cwd: process.cwd(), roots });
}

async function sharedSource(contexts: readonly string[], signal: AbortSignal): Promise<LoadSource> {
  const [only] = contexts;
  return only !== undefined && contexts.length === 1 ? contextSource(only, signal) : { paths: contexts };
}
