import { resolve } from "node:path";
import { type LoadSource, RlmError } from "../../index.ts";
import type { Runs } from "../../jobs/index.ts";
import type { Asked } from "../../store/index.ts";
import { contextSource } from "../input/sources.ts";
import type { AskedRun } from "./asked.ts";
import { tableRoots } from "./read-jobs.ts";
import type { Spool } from "./spool.ts";

/**
 * The jobs of a line, or the first of them, as often as they are wanted. Their contexts are put into the store one after the other, each path once.
 * Reading them throws RlmError `cancelled` and what loading throws.
 */
export function openAskedJobs(
  asked: Pick<AskedRun, "contexts" | "jobs" | "own">,
  spooled: Spool,
  runs: Pick<Runs, "keepContext">,
  signal: AbortSignal,
): () => AsyncIterable<Asked> {
  const { contexts, own } = asked;
  const rootsOf = (path: string) => (own.contextField === undefined ? [path] : tableRoots(asked));
  const kept = new Map<string | null, string>();
  async function contextOf(path: string | null): Promise<string | null> {
    if (path === null && contexts.length === 0) return null;
    const known = kept.get(path);
    if (known !== undefined) return known;
    const [source, paths] = path === null ? [await sharedSource(contexts, signal), contexts] : [path, rootsOf(path)];
    const hash = await keep(runs, source, paths);
    kept.set(path, hash);
    return hash;
  }
  return async function* () {
    let given = 0;
    for await (const { id, input, context } of spooled.jobs()) {
      if (given === own.first) return;
      given += 1;
      if (signal.aborted) throw cancelled();
      yield { id, input, context: await contextOf(context) };
    }
  };
}

function cancelled(): RlmError {
  return new RlmError("cancelled", "cancelled before anything was run", { suggestion: "Run the command again." });
}

/** The roots: what the user names may be read. */
function keep(runs: Pick<Runs, "keepContext">, source: LoadSource, paths: readonly string[]): Promise<string> {
  const roots = paths.filter((path) => path !== "-").map((path) => resolve(path));
  return runs.keepContext(source, { cwd: process.cwd(), roots });
}

async function sharedSource(contexts: readonly string[], signal: AbortSignal): Promise<LoadSource> {
  const [only] = contexts;
  return only !== undefined && contexts.length === 1 ? contextSource(only, signal) : { paths: contexts };
}
