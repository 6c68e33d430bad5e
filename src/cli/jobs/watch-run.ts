import { inLine } from "../../platform/visible.ts";
import { runExitCode } from "../batch/exit-code.ts";
import { followRun } from "../batch/follow.ts";
import { openPoke } from "../batch/poke.ts";
import { progressText } from "../batch/progress-line.ts";
import { openRunProgress } from "../batch/run-progress.ts";
import { runJson } from "../batch/standing-json.ts";
import { QUIET } from "../flags/declared.ts";
import { processClock } from "../render/progress.ts";
import { type JobsAsked, jobsLine, printJson, runNamed } from "./jobs-asked.ts";
import { openTopReason } from "./reasons.ts";

/** `--watch`: follows a run until it is over, whoever works on it. Gives the exit code: that of `belay batch`. */
export async function watchRun(asked: JobsAsked, name: string): Promise<number> {
  const { store, stop, terminal, place, json } = asked;
  const run = await runNamed(store, name, place);
  const quiet = asked.args.get(QUIET);
  const progress = openRunProgress(terminal.stderr, processClock, quiet ? "quiet" : json ? "json" : "text");
  const topReason = openTopReason(store.jobs, run.id);
  const stood = await followRun({
    jobs: store.jobs,
    run: run.id,
    clock: processClock,
    wait: openPoke(stop.signal).wait,
    signal: stop.signal,
    look: async (now) => progress.show({ ...now, reason: await topReason(now.counts.failed) }),
    ...(place.isServer ? { unreachable: progress.unreachable } : {}),
  });
  progress.clear();
  if (stood === null || stop.exitCode !== undefined) return stop.exitCode ?? 3;
  if (json) printJson(asked, { run: runJson(stood) });
  else {
    const text = progressText({ at: 0, ...stood }, { callsPerSecond: null, leftMs: null });
    terminal.stdout.write(`${inLine(`${run.name}: ${text}`)}\n`);
    if (!quiet) terminal.stderr.write(`results: ${jobsLine(asked, "out", run.name, "--out", "FILE")}\n`, "dim");
  }
  return runExitCode(stood.counts);
}
